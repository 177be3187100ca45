"""The poller: when it looks, what it may do, and who tells when it cannot."""

from __future__ import annotations

import json

import pytest

from tests.infra.template import Template, referred


@pytest.fixture
def polled(templates: dict[str, Template]) -> Template:
    """The template of the fleet with feeds."""
    return templates["polled"]


def test_fleet_without_feeds_has_no_poller(templates: dict[str, Template]) -> None:
    assert templates["small"].functions("poller") == []


def test_each_feed_has_a_schedule_that_names_it(polled: Template) -> None:
    poller = polled.function("poller").id
    looks = {
        json.loads(each.of("Target.Input"))["source"]: each
        for each in polled.all("Scheduler::Schedule")
        if referred(each.of("Target.Arn")) == poller
    }

    assert {name: each.of("ScheduleExpression") for name, each in looks.items()} == {
        "releases": "rate(30 minutes)",
        "orders": "cron(0 8 ? * MON-FRI *)",
        "private": "rate(1 minute)",
        "paused": "rate(2 days)",
    }
    assert looks["orders"].of("ScheduleExpressionTimezone") == "Europe/Berlin"
    assert {name: each.of("State") for name, each in looks.items()} == {
        **dict.fromkeys(["releases", "orders", "private"], "ENABLED"),
        "paused": "DISABLED",
    }
    retry = "Target.RetryPolicy.MaximumEventAgeInSeconds"
    assert {name: each.of(retry) for name, each in looks.items()} == {
        **dict.fromkeys(["releases", "orders", "paused"], 600),
        "private": 60,
    }
    for each in looks.values():
        assert each.of("Target.DeadLetterConfig.Arn")


def test_poller_writes_events_and_its_cursor_and_reads_two_secrets(
    polled: Template,
) -> None:
    role = polled.role_of(polled.function("poller").id)

    assert polled.doings(role, "dynamodb:") == {
        "dynamodb:PutItem",
        "dynamodb:UpdateItem",
    }
    assert polled.doings(role, "s3:") == {"s3:PutObject"}
    (where,) = polled.things(role, "s3:PutObject")
    assert where.endswith("/events/*")
    # Of the four feeds two have nothing secret.
    assert len(polled.things(role, "secretsmanager:GetSecretValue")) == 2
    for service in ("scheduler:", "events:", "lambda:"):
        assert polled.doings(role, service) == set()


def test_poller_reads_events_only_where_edits_are_accepted(
    templates: dict[str, Template],
) -> None:
    edited = templates["planned"]
    role = edited.role_of(edited.function("poller").id)

    assert edited.doings(role, "dynamodb:") == {
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:UpdateItem",
    }
    assert edited.doings(role, "s3:") == {
        "s3:GetObject",
        "s3:ListBucket",
        "s3:PutObject",
    }
    (where,) = edited.things(role, "s3:GetObject")
    assert where.endswith("/events/*")


def test_secret_is_made_for_a_feed_that_has_one(polled: Template) -> None:
    made = {each.of("Name") for each in polled.all("SecretsManager::Secret")}

    assert made == {"bellhop/github", "bellhop/orders", "bellhop/private"}


def test_calls_that_the_poller_failed_are_kept(polled: Template) -> None:
    poller = polled.function("poller").id
    (kept,) = [
        each
        for each in polled.all("Lambda::EventInvokeConfig")
        if referred(each.of("FunctionName")) == poller
    ]

    assert kept.of("DestinationConfig.OnFailure.Destination")


def test_each_feed_that_is_not_read_is_alarmed_by_silence(polled: Template) -> None:
    """Within three looks: of an hour each, or of days over a weekend."""
    stale = {
        each.of("Dimensions")[0]["Value"]: each
        for each in polled.all("CloudWatch::Alarm")
        if each.of("MetricName") == "FeedRead"
    }

    assert {
        name: (each.of("Period"), each.of("EvaluationPeriods"))
        for name, each in stale.items()
    } == {"releases": (3600, 3), "private": (3600, 3), "orders": (86_400, 7)}
    assert {each.of("TreatMissingData") for each in stale.values()} == {"breaching"}


def test_library_of_feeds_goes_to_the_poller_alone(polled: Template) -> None:
    zips = {
        name: str(polled.function(name).of("Code.S3Key"))
        for name in ("poller", "relay", "receiver", "worker")
    }

    assert zips["poller"] not in {zips["relay"], zips["receiver"], zips["worker"]}
