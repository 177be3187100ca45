"""What can be wrong with an agent, in the words that its author reads."""

from __future__ import annotations

import pytest

from tests.unit.fleet.broken import AGENT, GITHUB, of_agent, of_on, problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            f"{GITHUB}[agents.hello]\non = [{{source = 'github', kind = 'a'}}]",
            "agents.hello.run: want 'module:function', got nothing",
        ),
        (
            "[agents.hello]\nrun = 'hello'\non = []",
            "agents.hello.run: want 'module:function', got 'hello'",
        ),
        (
            "[agents.hello]\nrun = 'agents.hello:run'",
            "agents.hello.on: nothing wakes this agent; want events, a schedule or a"
            " calendar",
        ),
        (
            of_agent("timeout_seconds = 901"),
            "agents.hello.timeout_seconds: want 1 to 900, got 901",
        ),
        (
            of_agent("max_receives = 2"),
            "agents.hello.max_receives: want 3 to 10, got 2",
        ),
        (
            of_agent("max_concurrency = 1"),
            "agents.hello.max_concurrency: want 2 to 1000, got 1",
        ),
        (of_agent("batch_size = 11"), "agents.hello.batch_size: want 1 to 10, got 11"),
        (
            of_agent("batch_size = '5'"),
            "agents.hello.batch_size: want a whole number, 1 to 10, got '5'",
        ),
        (
            of_agent("compute = 'fargat'"),
            "agents.hello.compute: want lambda | fargate, got 'fargat';"
            " did you mean 'fargate'?",
        ),
        (
            of_agent("backoff_base_seconds = 60\nbackoff_max_seconds = 30"),
            "agents.hello.backoff_max_seconds: want at least backoff_base_seconds"
            " (60), got 30",
        ),
        (
            of_agent("max_receives = 10\nbackoff_max_seconds = 39600"),
            "agents.hello.backoff_max_seconds: 10 receives with waits of 39600 s"
            " outlast the queue (4 days); want fewer receives or shorter waits",
        ),
        (
            of_agent("environment = { LEDGER_TABLE = 'x' }"),
            "agents.hello.environment.LEDGER_TABLE: this name is taken; want another"
            " one",
        ),
        (
            of_agent("environment = { POWERTOOLS_IDEMPOTENCY_DISABLED = 'true' }"),
            "agents.hello.environment.POWERTOOLS_IDEMPOTENCY_DISABLED: this name is"
            " taken; want another one",
        ),
        (
            of_agent("environment = { LIMIT = 3 }"),
            "agents.hello.environment.LIMIT: want text, got 3",
        ),
        (
            of_agent(
                "allow = [{ actions = ['s3:*'], resources = ['arn:aws:s3:::b'] }]"
            ),
            "agents.hello.allow[0].actions: want actions like 's3:GetObject', without"
            " wildcards, got 's3:*' in it",
        ),
        (
            of_agent("allow = [{ actions = ['s3:GetObject'], resources = ['*'] }]"),
            "agents.hello.allow[0].resources: want whole ARNs, without wildcards,"
            " got '*' in it",
        ),
        (
            of_agent("allow = [{ actions = ['s3:GetObject'] }]"),
            "agents.hello.allow[0].resources: want at least one",
        ),
        (
            f"{of_agent('')}[agents.greet]\nwas = 'hello'\n{AGENT}",
            "agents.greet.was: the runs of 'hello' belong to agent 'hello'",
        ),
        (
            f"{GITHUB}[agents.a-1]\n{AGENT}[agents.a1]\n{AGENT}",
            "agents.a1: is spelled like agent 'a-1' in outputs; want another name",
        ),
        (
            of_on("{ source = 'githb', kind = 'a' }"),
            "agents.hello.on[0].source: no source 'githb'; did you mean 'github'?",
        ),
        (
            of_on("{ source = 'github' }"),
            "agents.hello.on[0].kind: too broad: want a kind, or say"
            " everything = true on the agent",
        ),
        (
            of_on("{ source = 'github', kind = ['a', '*'] }"),
            "agents.hello.on[0].kind: too broad: '*' is every kind; want a kind, or"
            " say everything = true on the agent",
        ),
        (
            of_on("{ kind = 'a' }"),
            "agents.hello.on[0].source: too broad: want a source, or say"
            " everything = true on the agent",
        ),
        (
            of_on("{ source = 'github', kind = 'a', bus = 'default' }"),
            "agents.hello.on[0].bus: only a pattern has a bus; want it removed",
        ),
        (
            of_on(
                "{ source = 'github', kind = 'a', facts = { n = [{ exist = true }] } }"
            ),
            "agents.hello.on[0]: detail.facts.n: no rule 'exist'; want one of prefix,"
            " suffix, anything-but, equals-ignore-case, wildcard, numeric, cidr,"
            " exists",
        ),
        (
            of_on("{ pattern = { source = ['aws.s3'] } }"),
            "agents.hello.on[0].pattern.detail-type: too broad: want a kind, or say"
            " everything = true on the agent",
        ),
        (
            of_on("{ pattern = { source = [{prefix = ''}], detail-type = ['a'] } }"),
            "agents.hello.on[0].pattern.source: too broad: want a source, or say"
            " everything = true on the agent",
        ),
        (
            of_on("{ pattern = { source = [{exists = true}], detail-type = ['a'] } }"),
            "agents.hello.on[0].pattern.source: too broad: want a source, or say"
            " everything = true on the agent",
        ),
        (
            of_on(
                "{ pattern = { source = ['bellhop.github'], detail-type = ['a'],"
                " detail = { action = ['opened'] } } }"
            ),
            "agents.hello.on[0].pattern.detail.action: no event has it; want event_id,"
            " tenant, received_at, expires_at, facts, actor, thread, generation;"
            " facts are under detail.facts",
        ),
        (
            of_on(
                "{ pattern = { source = ['bellhop.github'], detail-type = ['a'],"
                " account = ['1'] } }"
            ),
            "agents.hello.on[0].pattern.account: no event has it; want source,"
            " detail-type, detail",
        ),
        (
            of_on("{ pattern = { source = ['bellhop.gitub'], detail-type = ['a'] } }"),
            "agents.hello.on[0].pattern.source: no source 'gitub';"
            " did you mean 'github'?",
        ),
        (
            of_on(
                "{ pattern = { source = ['bellhop.github', 'aws.s3'],"
                " detail-type = ['a'] } }"
            ),
            "agents.hello.on[0].pattern.source: events of this fleet and of AWS travel"
            " on different buses; want an entry for each",
        ),
        (
            of_on("{ pattern = { source = 'aws.s3', detail-type = ['a'] } }"),
            "agents.hello.on[0].pattern: source: want a list of values, got 'aws.s3'",
        ),
        (
            of_on(
                "{ source = 'github',"
                " pattern = { source = ['aws.s3'], detail-type = ['a'] } }"
            ),
            "agents.hello.on[0].source: stands inside the pattern; want it removed"
            " here",
        ),
    ],
)
def test_problem_says_where_it_is_and_what_was_wanted(text: str, problem: str) -> None:
    assert f"fleet.toml: {problem}" in problems(text)
