"""Schedules: what Scheduler is told, what it may do, and what tells of its silence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.infra.template import Resource, Template, referred, shown

DAY = 86_400


def inputs(timed: Template) -> dict[str, tuple[Resource, dict[str, Any]]]:
    """The schedules of the fleet by name, each with its input."""
    found = {}
    for schedule in timed.all("Scheduler::Schedule"):
        text = schedule.of("Target.Input")
        if text is not None:
            told = json.loads(text)
            found[told["schedule"]] = (schedule, told)
    return found


def alarms(template: Template) -> list[Resource]:
    return template.all("CloudWatch::Alarm")


def test_fleet_without_schedules_has_no_clock_of_its_own(
    templates: dict[str, Template],
) -> None:
    assert templates["small"].functions("cron") == []
    assert templates["small"].functions("watcher") == []


@pytest.mark.parametrize(
    ("name", "expression", "zone", "oldest", "window"),
    [
        ("cron", "cron(0 6 ? * MON-FRI *)", "America/New_York", DAY - 60, None),
        ("often", "rate(15 minutes)", None, 14 * 60, 5),
        ("once", "at(2099-12-24T08:00:00)", "Europe/Berlin", 600, None),
        ("minutely", "cron(* * * * ? *)", "UTC", 60, None),
        ("paused", "rate(2 days)", None, DAY, None),
    ],
)
def test_scheduler_is_told_what_the_fleet_says(
    timed: Template,
    name: str,
    expression: str,
    zone: str | None,
    oldest: int,
    window: int | None,
) -> None:
    """A tick is given up before its successor comes, or when it would not be run."""
    schedule, _ = inputs(timed)[name]

    assert schedule.of("ScheduleExpression") == expression
    assert schedule.of("ScheduleExpressionTimezone") == zone
    assert schedule.of("Target.RetryPolicy.MaximumEventAgeInSeconds") == oldest
    assert schedule.of("Target.RetryPolicy.MaximumRetryAttempts") == 185
    assert schedule.of("FlexibleTimeWindow.MaximumWindowInMinutes") == window
    assert schedule.of("State") == ("DISABLED" if name == "paused" else "ENABLED")


def test_planned_time_is_scheduler_s_own_word(timed: Template) -> None:
    """Nothing is put in unless the input asks for it, word for word."""
    for schedule, told in inputs(timed).values():
        assert told["planned"] == "<aws.scheduler.scheduled-time>"
        assert told["attempt"] == "<aws.scheduler.attempt-number>"
        assert told["execution"] == "<aws.scheduler.execution-id>"
        assert referred(schedule.of("Target.Arn")) == timed.function("cron").id


def test_all_schedules_share_one_group_and_one_role(template: Template) -> None:
    """Those of the stack: the planner's own have another, and are no resources."""
    schedules = template.all("Scheduler::Schedule")

    assert len({referred(each.of("GroupName")) for each in schedules}) == 1
    assert len({referred(each.of("Target.RoleArn")) for each in schedules}) == 1


def test_scheduler_may_act_only_for_our_schedules(template: Template) -> None:
    schedule = template.all("Scheduler::Schedule")[0]
    role = template[referred(schedule.of("Target.RoleArn"))]
    (trust,) = role.of("AssumeRolePolicyDocument.Statement")

    equal = trust["Condition"]["StringEquals"]
    assert shown(equal["aws:SourceAccount"]) == "${AWS::AccountId}"
    assert referred(equal["aws:SourceArn"]) == referred(schedule.of("GroupName"))


def test_role_may_call_what_schedules_call_and_nothing_else(timed: Template) -> None:
    schedules = timed.all("Scheduler::Schedule")
    role = referred(schedules[0].of("Target.RoleArn"))
    called = {f"${{{referred(each.of('Target.Arn'))}.Arn}}" for each in schedules}

    assert timed.things(role, "lambda:InvokeFunction") == called
    assert timed.doings(role, "lambda:") == {"lambda:InvokeFunction"}
    assert timed.doings(role, "dynamodb:") == set()


def test_lost_ticks_lie_in_the_queue_that_the_outputs_name(template: Template) -> None:
    """That the role may write to it, and encrypt, is a rule over every template."""
    lost = template.outputs()["ScheduleDeadLetters"]

    for schedule in template.all("Scheduler::Schedule"):
        queue = referred(schedule.of("Target.DeadLetterConfig.Arn"))
        assert f"${{{queue}}}" == lost
        assert not template[queue].of("FifoQueue")


def test_ticks_that_the_function_fails_are_kept_and_not_tried_for_long(
    timed: Template,
) -> None:
    """Scheduler calls asynchronously: its own failure queue never sees those."""
    kept = timed.outputs()["AsyncFailures"]
    for handler, oldest in (("cron", 60), ("watcher", 240)):
        (config,) = [
            each
            for each in timed.all("Lambda::EventInvokeConfig")
            if referred(each.of("FunctionName")) == timed.function(handler).id
        ]
        queue = referred(config.of("DestinationConfig.OnFailure.Destination"))
        assert f"${{{queue}}}" == kept
        assert config.of("MaximumEventAgeInSeconds") == oldest
        assert config.of("MaximumRetryAttempts") == 2


def test_zone_data_goes_where_local_times_are_known(timed: Template) -> None:
    zips = {
        name: str(timed.function(name).of("Code.S3Key"))
        for name in ("cron", "watcher", "relay", "receiver")
    }

    assert zips["cron"] == zips["watcher"]
    assert zips["cron"] not in {zips["relay"], zips["receiver"]}


def test_cron_may_write_ticks_down_and_the_watcher_clear_the_line(
    timed: Template,
) -> None:
    cron = timed.role_of(timed.function("cron").id)
    watcher = timed.role_of(timed.function("watcher").id)
    reads = {"dynamodb:GetItem", "dynamodb:Query"}
    writes = {"dynamodb:PutItem", "dynamodb:UpdateItem"}

    assert timed.doings(cron, "dynamodb:") == reads | writes
    assert timed.doings(watcher, "dynamodb:") == reads | writes | {
        "dynamodb:DeleteItem"
    }
    assert timed.doings(watcher, "events:") == timed.doings(watcher, "lambda:") == set()


def test_every_schedule_at_work_has_its_own_alarm_for_missed_fires(
    timed: Template,
) -> None:
    missed = [
        each
        for each in alarms(timed)
        if each.of("MetricName") == "MissedFires" and each.of("Dimensions")
    ]

    assert sorted(each.of("Dimensions")[0]["Value"] for each in missed) == [
        "cron",
        "minutely",
        "often",
        "once",
    ]
    for each in missed:
        assert [d["Name"] for d in each.of("Dimensions")] == ["Schedule"]
        # The heartbeat tells of silence; a miss is a number that was sent.
        assert each.of("TreatMissingData") == "notBreaching"


def test_other_troubles_are_alarmed_once_over_the_fleet(timed: Template) -> None:
    over_all = {
        each.of("MetricName"): each
        for each in alarms(timed)
        if not each.of("Dimensions") and each.of("Namespace") == "Bellhop"
    }

    assert set(over_all) >= {
        "MissedFires",
        "LateFires",
        "Overruns",
        "FailedTicks",
        "WatcherHeartbeat",
    }


def test_silence_of_the_watcher_is_an_alarm_but_not_before_its_first_word(
    timed: Template,
) -> None:
    """ "Missing" would leave INSUFFICIENT_DATA, which pages nobody."""
    (alarm,) = [
        each for each in alarms(timed) if each.of("MetricName") == "WatcherHeartbeat"
    ]
    (schedule,) = [
        each
        for each in timed.all("Scheduler::Schedule")
        if referred(each.of("Target.Arn")) == timed.function("watcher").id
    ]

    assert schedule.of("ScheduleExpression") == "rate(5 minutes)"
    assert alarm.of("TreatMissingData") == "breaching"
    assert alarm.of("ComparisonOperator") == "LessThanThreshold"
    assert (alarm.of("Period"), alarm.of("EvaluationPeriods")) == (300, 3)
    assert alarm.of("WarmUpConfiguration.WarmUpPeriodDurationInMinutes") == 30


def test_a_schedule_is_two_resources(templates: dict[str, Template]) -> None:
    """A fleet may have hundreds: only the schedule, and its alarm."""
    timed = templates["timed"]
    names = [name for name in timed.body["Resources"] if "Often" in name]

    assert len(names) == 2
