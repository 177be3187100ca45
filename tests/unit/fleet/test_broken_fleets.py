"""What can be wrong with a whole fleet, in the words that its author reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from lambdas.shared import senders
from lambdas.shared.fleet import FleetError, load, parse
from tests.unit.fleet.broken import (
    HELLO,
    of_agent,
    of_generic,
    of_on,
    of_schedule,
    of_source,
    problems,
)


def of_calendar(keys: str, rule: str = "title = 'x'") -> str:
    team = f"[calendars.team]\n{keys}\n[[calendars.team.rules]]\n"
    return f"{HELLO}{team}category = 'audit'\nagent = 'hello'\n{rule}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = [", "not TOML: Invalid value (at line 1, the end of the file)"),
        ("\na = = 3", "not TOML: Invalid value (at line 2, column 5)"),
        ("[agnets.a]", "agnets: unknown key; did you mean 'agents'?"),
        (
            of_schedule("agent = 'helo'\ncron = '0 6 ? * MON-FRI *'"),
            "schedules.nightly.agent: no agent 'helo'; did you mean 'hello'?",
        ),
        (
            of_schedule("agent = 'hello'\ncron = '0 6 * * 1'"),
            "schedules.nightly.cron: want six fields like '0 6 ? * MON-FRI *',"
            " got '0 6 * * 1'",
        ),
        (
            of_schedule("agent = 'hello'\nrate = '1 days'"),
            "schedules.nightly.rate: want a rate like '15 minutes', got '1 days'",
        ),
        (
            of_schedule("agent = 'hello'"),
            "schedules.nightly: want exactly one of cron, rate, at",
        ),
        (
            of_schedule("agent = 'hello'\nrate = '1 day'\ntimezone = 'Mars/Olympus'"),
            "schedules.nightly.timezone: want a zone like 'Europe/Berlin',"
            " got 'Mars/Olympus'",
        ),
        (
            of_schedule("agent = 'hello'\nat = 2026-12-24T08:00:00Z"),
            "schedules.nightly.at: want '2026-12-24T08:00:00', no zone, got"
            " 2026-12-24T08:00:00+00:00",
        ),
        (
            "[calendars.team]",
            "calendars.team.rules: want at least one rule {category, agent, title}",
        ),
        (
            of_calendar("feed = 'google'"),
            "calendars.team.calendar_id: want the calendar's id at Google, or"
            " 'primary'",
        ),
        (
            of_calendar("calendar_id = 'primary'"),
            'calendars.team.calendar_id: means something only with feed = "google"',
        ),
        (
            of_calendar("feed = 'google'\ncalendar_id = 'a'\nact_as = 'me'"),
            "calendars.team.act_as: want a person's e-mail address, got 'me'",
        ),
        (
            of_calendar("feed = 'google'\ncalendar_id = 'a'", "tagged = 'close'"),
            "calendars.team.rules[0].tagged: Google's entries have no tags",
        ),
        (
            "[fleet]\nledger_days = 14",
            "fleet.ledger_days: want at least 19 (14 as a dead letter, 4 in the queue"
            " after a redrive, 1 for the longest run), got 14",
        ),
        (
            of_agent("max_duration_seconds = 259_200\n[fleet]\nledger_days = 20"),
            "fleet.ledger_days: want at least 21 (14 as a dead letter, 4 in the queue"
            " after a redrive, 3 for the longest run), got 20",
        ),
        (
            "[fleet]\nvpc = 'default'",
            "fleet.vpc: want a VPC like 'vpc-0a1b2c3d', got 'default'",
        ),
        (
            "[fleet]\nvpc = 'vpc-0a1b2c3d'",
            "fleet.vpc: want subnets beside it",
        ),
        (
            "[fleet]\nsubnets = ['subnet-0a1b2c3d']",
            "fleet.subnets: want vpc beside it",
        ),
        (
            "[fleet]\nvpc = 'vpc-0a1b2c3d'\nsubnets = ['a']",
            "fleet.subnets: want subnets like 'subnet-0a1b2c3d', got 'a' in it",
        ),
        (
            "[fleet]\npublic_ip = true",
            "fleet.public_ip: goes with vpc and subnets; want it removed",
        ),
        (
            "[fleet]\nregion = 'Frankfurt'",
            "fleet.region: want a region like 'eu-central-1', got 'Frankfurt'",
        ),
        ("[digest]\ntime = '8am'", "digest.time: want a time like '08:00', got '8am'"),
    ],
)
def test_problem_says_where_it_is_and_what_was_wanted(text: str, problem: str) -> None:
    assert f"fleet.toml: {problem}" in problems(text)


def test_every_problem_is_told_at_once() -> None:
    text = """
        [sources.githb]
        [agents.triage]
        run = "triage"
        timeout_seconds = 901
        on = [{ source = "githb", kind = "a" }, { source = "slack" }]
        [schedules.nightly]
        agent = "ghost"
        cron = "0 6 ? * MON-FRI *"
        overlap = "skp"
        [fleet]
        ledger_dais = 60
    """

    assert problems(text) == [
        "fleet.toml: sources.githb.sender: no sender 'githb'",
        "fleet.toml: agents.triage.run: want 'module:function', got 'triage'",
        "fleet.toml: agents.triage.on[1].source: no source 'slack'",
        "fleet.toml: agents.triage.on[1].kind: too broad: want a kind, or say"
        " everything = true on the agent",
        "fleet.toml: agents.triage.timeout_seconds: want 1 to 900, got 901",
        "fleet.toml: schedules.nightly.agent: no agent 'ghost'",
        "fleet.toml: schedules.nightly.overlap: want skip | queue | concurrent,"
        " got 'skp'; did you mean 'skip'?",
        "fleet.toml: fleet.ledger_dais: unknown key; did you mean 'ledger_days'?",
    ]


@pytest.mark.parametrize(
    "text",
    [
        HELLO,
        of_source("identity = 'body'"),
        "[sources.datadog]\nidentity = 'request'\nsite = 'eu'",
        "[sources.twilio]\npublic_url = 'https://hooks.example.com/twilio'",
        "[sources.sentry]\n[fleet]\nwarm = 0",
        of_on("{ source = 'github' }", "everything = true"),
        of_on("{}", "everything = true"),
        of_agent("[fleet]\ntimeout_limit_seconds = 1800").replace(
            "on =", "timeout_seconds = 1800\non ="
        ),
        of_schedule("agent = 'hello'\nat = 2026-12-24T08:00:00"),
        of_generic("algorithm = 'basic'").replace("signature_header = 'X-Sign'\n", ""),
    ],
)
def test_what_is_said_on_purpose_is_taken(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 5000 + "]" * 5000, "a = " + "1" * 5000],
    ids=["ever deeper", "a number of 5,000 digits"],
)
def test_file_that_no_reader_bears_is_a_problem_and_no_trace(text: str) -> None:
    (problem,) = problems(text)

    assert problem.startswith("fleet.toml: not readable: ")
    assert len(problem) < 300


@pytest.mark.parametrize(
    "sender", ["github.com", "../github", "__init__", ".", "GitHub", "a_b", "x" * 999]
)
def test_sender_that_names_no_module_is_told_which_there_are(sender: str) -> None:
    with pytest.raises(FleetError) as refused:
        parse(f'[sources.x]\nsender = "{sender}"\n', find_traits=senders.traits)

    (problem,) = refused.value.problems
    assert problem.startswith("fleet.toml: sources.x.sender: no sender ")
    assert "there are adyen, " in problem


def test_file_is_read_as_editors_of_windows_save_it(tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_bytes(b"\xef\xbb\xbf[sources.github]\r\n")

    assert list(load(file).sources) == ["github"]


def test_schedules_that_the_stack_spells_alike_are_told_apart_here() -> None:
    text = of_schedule("agent = 'hello'\nrate = '5 minutes'\n")
    twin = "[schedules.s-1]\nagent = 'hello'\nrate = '5 minutes'\n"

    assert problems(text + twin + twin.replace("s-1", "s1")) == [
        "fleet.toml: schedules.s1: is spelled like schedule 's-1' in the stack;"
        " want another name"
    ]


def test_date_in_a_pattern_is_a_problem_and_no_trace() -> None:
    words = "source = ['bellhop.github'], detail-type = ['a.b']"
    found = problems(
        of_on(f"{{pattern = {{{words}, detail = {{facts = {{a = [1979-05-27]}}}}}}}}")
    )

    assert len(found) == 1
    assert "detail.facts.a: want plain values or rules" in found[0]
