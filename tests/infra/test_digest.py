"""The digest: daily at a local time, reads every failure queue, deletes nothing."""

from __future__ import annotations

import json
import re

import pytest

from lambdas.shared.fleet import load
from tests.infra import rules
from tests.infra.conftest import read
from tests.infra.template import Resource, Template, referred, shown

DIGEST = """
[digest]
time = "07:30"
timezone = "Europe/Berlin"
channel = "#ops"
secret_name = "ops/slack"
email = ["ops@example.com", "night@example.com"]
"""


# As many as fit beside a digest, with names as long as they may be.
AGENTS = 30
FLEET = "[sources.github]\n" + "".join(
    f"""
[agents.agent-with-the-longest-name-that-is-ok{number}]
run = "agents.hello:run"
on = [{{ source = "github", kind = "kind-{number}" }}]
"""
    for number in range(10, 10 + AGENTS)
)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """A large fleet with a digest."""
    from stacks.assembly import synthesise

    folder = tmp_path_factory.mktemp("told")
    path = folder / "fleet.toml"
    path.write_text(FLEET + DIGEST, encoding="utf-8")
    synthesise(load(path), fleet_path=path, outdir=folder / "out")
    return read(folder / "out")


@pytest.fixture
def digest(told: Template) -> Resource:
    return told.function("dlq_digest")


def test_digest_comes_daily_at_the_fleets_local_time(
    told: Template, digest: Resource
) -> None:
    (schedule,) = [
        each
        for each in told.all("Scheduler::Schedule")
        if referred(each.of("Target.Arn")) == digest.id
    ]

    assert schedule.of("ScheduleExpression") == "cron(30 7 * * ? *)"
    assert schedule.of("ScheduleExpressionTimezone") == "Europe/Berlin"
    assert schedule.of("FlexibleTimeWindow.Mode") == "OFF"
    assert schedule.of("Target.DeadLetterConfig.Arn")


def test_call_that_failed_for_good_is_kept(told: Template, digest: Resource) -> None:
    (config,) = [
        each
        for each in told.all("Lambda::EventInvokeConfig")
        if referred(each.of("FunctionName")) == digest.id
    ]

    assert config.of("MaximumRetryAttempts") == 2
    assert config.of("DestinationConfig.OnFailure.Destination")
    assert rules.unwritable_queues(told) == []


def test_digest_reads_every_dead_letter_and_deletes_none(
    told: Template, digest: Resource
) -> None:
    role = told.role_of(digest.id)
    queues = {each.id for each in told.all("SQS::Queue")}
    agents = {referred(m.of("EventSourceArn")) for m in told.mappings(streams=False)}
    watcher_free = {f"${{{each}.Arn}}" for each in queues - agents}

    received = told.things(role, "sqs:ReceiveMessage")
    assert received <= watcher_free
    assert len(received) == len(agents) + 4
    assert "sqs:DeleteMessage" not in told.doings(role, "sqs:")
    assert "sqs:PurgeQueue" not in told.doings(role, "sqs:")


def test_digest_writes_to_the_ledger_without_deleting(
    told: Template, digest: Resource
) -> None:
    role = told.role_of(digest.id)
    table = told.only("DynamoDB::Table").id

    assert told.doings(role, "dynamodb:") == {
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "dynamodb:UpdateItem",
    }
    assert told.may(role, "dynamodb:Query", f"${{{table}.Arn}}/index/by-state")


def test_digest_reads_the_workers_logs_and_no_other(
    told: Template, digest: Resource
) -> None:
    """So many that CDK puts them into a managed policy of the role's own."""
    role = told.role_of(digest.id)
    logs = {
        shown(resource)
        for policy in [*told.all("IAM::Policy"), *told.all("IAM::ManagedPolicy")]
        if role in [referred(each) for each in policy.of("Roles") or []]
        for statement in policy.of("PolicyDocument.Statement")
        if statement["Action"] == "logs:FilterLogEvents"
        for resource in statement["Resource"]
    }
    workers = {
        f"${{{referred(each.of('LoggingConfig.LogGroup'))}.Arn}}"
        for each in told.functions("worker")
    }

    assert logs == workers


def test_digest_knows_its_own_secret_alone(told: Template, digest: Resource) -> None:
    role = told.role_of(digest.id)
    (secret,) = [
        each
        for each in told.all("SecretsManager::Secret")
        if each.of("Name") == "ops/slack"
    ]

    assert told.things(role, "secretsmanager:GetSecretValue") == {f"${{{secret.id}}}"}
    assert secret.of("GenerateSecretString") is not None


def test_mail_goes_by_a_topic_under_the_fleets_key(
    told: Template, digest: Resource
) -> None:
    addresses = [
        each.of("Endpoint")
        for each in told.all("SNS::Subscription")
        if each.of("Protocol") == "email"
    ]
    topic = referred(digest.of("Environment.Variables.TOPIC_ARN"))

    assert addresses == ["ops@example.com", "night@example.com"]
    assert referred(told[topic].of("KmsMasterKeyId")) == told.only("KMS::Key").id
    role = told.role_of(digest.id)
    assert told.may(role, "sns:Publish", shown({"Ref": topic}))


def test_nothing_of_the_rules_breaks_with_a_digest(told: Template) -> None:
    assert rules.unlimited_grants(told) == []
    assert rules.crowded_environments(told) == []
    assert rules.under_another_key(told) == []
    assert rules.plain_text_doors(told) == []


def test_no_policy_is_longer_than_iam_takes(told: Template) -> None:
    """10,240 characters in a role's own policies, 6,144 in a managed one."""
    for policy in [*told.all("IAM::Policy"), *told.all("IAM::ManagedPolicy")]:
        longest = 10_240 if policy.type == "AWS::IAM::Policy" else 6_144
        text = json.dumps(policy.of("PolicyDocument"), separators=(",", ":"))
        # A reference becomes an ARN of some 130 characters.
        filled = re.sub(r'\{"(Fn::GetAtt|Ref|Fn::Join)":[^{}]*\}', "x" * 130, text)
        assert len(filled) <= longest, policy.id


def test_fleet_without_the_table_has_no_digest(
    templates: dict[str, Template],
) -> None:
    assert templates["small"].functions("dlq_digest") == []
