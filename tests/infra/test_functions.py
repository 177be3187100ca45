"""Functions: each with a role of its own that can do what it must and no more."""

from __future__ import annotations

import pytest

from lambdas.shared.adapters import direct
from tests.infra.template import Resource, Template, referred


def test_every_function_has_a_role_and_a_log_group_of_its_own(
    template: Template,
) -> None:
    functions = template.all("Lambda::Function")
    roles = [referred(each.of("Role")) for each in functions]
    groups = [referred(each.of("LoggingConfig.LogGroup")) for each in functions]

    assert len(set(roles)) == len(set(groups)) == len(functions)
    assert {template[group].type for group in groups} == {"AWS::Logs::LogGroup"}


def test_every_log_group_forgets(template: Template) -> None:
    for group in template.all("Logs::LogGroup"):
        assert group.of("RetentionInDays") == 90


def test_every_function_runs_on_the_one_runtime(template: Template) -> None:
    functions = template.all("Lambda::Function")

    assert {each.of("Runtime") for each in functions} == {"python3.13"}
    assert {tuple(each.of("Architectures")) for each in functions} == {("arm64",)}


def test_nothing_that_is_set_takes_a_call_s_first_try_away(template: Template) -> None:
    for function in template.all("Lambda::Function"):
        variables = function.of("Environment.Variables") or {}
        assert not set(variables) & set(direct.UNUSUAL)


def test_only_workers_ship_the_agents(template: Template) -> None:
    """So that a changed agent leaves the receiver, and its warmth, alone."""
    zips = {
        handler: {str(e.of("Code.S3Key")) for e in template.functions(handler)}
        for handler in ("receiver", "relay", "sweep", "worker")
    }

    assert zips["receiver"] == zips["relay"] == zips["sweep"]
    assert len(zips["worker"]) == 1
    assert zips["worker"] != zips["receiver"]


def test_receiver_may_write_events_and_read_the_sources_secrets(
    template: Template,
) -> None:
    role = template.role_of(template.function("receiver").id)
    secrets = {f"${{{each.id}}}" for each in template.all("SecretsManager::Secret")}

    assert template.doings(role, "dynamodb:") == {"dynamodb:PutItem"}
    assert template.doings(role, "s3:") == {"s3:PutObject"}
    assert template.doings(role, "sqs:") == set()
    assert template.doings(role, "events:") == set()
    assert template.things(role, "secretsmanager:GetSecretValue") == secrets


@pytest.mark.parametrize("handler", ["receiver", "worker", "relay", "sweep", "cron"])
def test_nobody_may_scan_or_delete(template: Template, handler: str) -> None:
    for function in template.functions(handler):
        doings = template.doings(template.role_of(function.id), "")

        assert not {each for each in doings if "Scan" in each or "DeleteItem" in each}
        assert not {each for each in doings if "DeleteObject" in each}


def test_worker_may_touch_its_own_queue_alone(template: Template) -> None:
    for mapping in template.mappings(streams=False):
        role = template.role_of(referred(mapping.of("FunctionName")))
        queue = f"${{{referred(mapping.of('EventSourceArn'))}.Arn}}"

        assert template.things(role, "sqs:ReceiveMessage") == {queue}
        assert template.things(role, "sqs:ChangeMessageVisibility") == {queue}
        # A run that goes on later does so under a message to the same queue.
        assert template.things(role, "sqs:SendMessage") == {queue}


def test_workers_alone_may_write_to_the_queue_that_calls_them(
    template: Template,
) -> None:
    """Lambda stops such a loop after some 16 rounds, unless it is told of it."""
    for function in template.all("Lambda::Function"):
        is_worker = function in template.functions("worker")

        assert function.of("RecursiveLoop") == ("Allow" if is_worker else None)


def test_agents_grants_widen_its_own_role_alone(large: Template) -> None:
    wide = _worker(large, "wide")
    other = _worker(large, "agent-with-quite-a-long-name-0")
    secret = "arn:${AWS::Partition}:secretsmanager:${AWS::Region}:${AWS::AccountId}"
    stripe = next(
        each.id
        for each in large.all("SecretsManager::Secret")
        if each.of("Name") == "bellhop/stripe"
    )

    role, others = large.role_of(wide.id), large.role_of(other.id)
    assert large.may(role, "s3:GetObject", "arn:aws:s3:::b/key")
    assert large.things(role, "secretsmanager:GetSecretValue") == {
        f"{secret}:secret:bellhop/github-token-??????",
        f"${{{stripe}}}",
    }
    assert wide.of("Environment.Variables.MODEL") == "small"
    assert large.doings(others, "secretsmanager:") == set()
    assert not large.may(others, "s3:GetObject", "arn:aws:s3:::b/key")


def test_every_source_has_the_secret_it_names(large: Template) -> None:
    names = [each.of("Name") for each in large.all("SecretsManager::Secret")]

    assert sorted(names) == [
        "bellhop/github",
        "bellhop/linear",
        "bellhop/slack",
        "bellhop/stripe",
        "github/eu",
    ]


def test_an_unset_secret_is_random_and_in_no_template(template: Template) -> None:
    for secret in template.all("SecretsManager::Secret"):
        assert secret.of("GenerateSecretString") is not None
        assert secret.of("SecretString") is None


def _worker(template: Template, agent: str) -> Resource:
    (found,) = [
        each
        for each in template.functions("worker")
        if each.of("Environment.Variables.AGENT_NAME") == agent
    ]
    return found
