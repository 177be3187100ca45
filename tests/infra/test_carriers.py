"""Rules, the ledger's stream and schedules: what moves an event on."""

from __future__ import annotations

import json

from tests.infra.template import Template, referred, shown

DAY = 86_400


def test_no_rule_is_a_clock(template: Template) -> None:
    """A rule's cron knows UTC only; schedules belong to EventBridge Scheduler."""
    for rule in template.all("Events::Rule"):
        assert rule.of("ScheduleExpression") is None


def test_every_rule_has_a_pattern_and_does_not_transform(template: Template) -> None:
    for rule in template.all("Events::Rule"):
        assert rule.of("EventPattern.source")
        for target in rule.of("Targets"):
            assert not {"Input", "InputPath", "InputTransformer"} & set(target)


def test_awss_own_events_come_from_the_default_bus(large: Template) -> None:
    buses = {
        rule.of("EventPattern.source")[0]: shown(rule.of("EventBusName"))
        for rule in large.all("Events::Rule")
    }

    bus = large.only("Events::EventBus").id
    assert buses["aws.s3"] == "default"
    assert buses["bellhop.stripe"] == f"${{{bus}}}"


def test_stream_is_retried_until_it_forgets_and_then_kept(template: Template) -> None:
    """Bisected, so that one bad record is parked alone; a bucket keeps it whole."""
    (stream,) = template.mappings(streams=True)
    role = template.role_of(referred(stream.of("FunctionName")))
    bucket = template.only("S3::Bucket").id

    assert stream.of("StartingPosition") == "TRIM_HORIZON"
    assert stream.of("BisectBatchOnFunctionError") is True
    assert stream.of("MaximumRetryAttempts") == -1
    assert stream.of("MaximumRecordAgeInSeconds") == DAY
    assert referred(stream.of("DestinationConfig.OnFailure.Destination")) == bucket
    assert template.may(role, "s3:PutObject", f"${{{bucket}.Arn}}/aws/lambda/*")
    assert template.may(role, "s3:ListBucket", f"${{{bucket}.Arn}}")


def test_stream_carries_new_events_of_the_door_alone(template: Template) -> None:
    (stream,) = template.mappings(streams=True)
    (only,) = stream.of("FilterCriteria.Filters")

    assert json.loads(only["Pattern"]) == {
        "eventName": ["INSERT"],
        "dynamodb": {
            "Keys": {"sk": {"S": ["event"]}},
            "NewImage": {"via": {"S": ["door"]}},
        },
    }


def test_sweep_comes_every_quarter_hour_and_never_late(template: Template) -> None:
    """A late one would look at its successor's window."""
    sweep = template.function("sweep")
    (schedule,) = [
        each
        for each in template.all("Scheduler::Schedule")
        if referred(each.of("Target.Arn")) == sweep.id
    ]
    (config,) = [
        each
        for each in template.all("Lambda::EventInvokeConfig")
        if referred(each.of("FunctionName")) == sweep.id
    ]

    assert schedule.of("ScheduleExpression") == "rate(15 minutes)"
    assert schedule.of("Target.RetryPolicy.MaximumEventAgeInSeconds") < 15 * 60
    assert config.of("MaximumEventAgeInSeconds") < 15 * 60
    assert config.of("MaximumRetryAttempts") == 2
