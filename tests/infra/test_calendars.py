"""The planner: what it may do, and who tells when it cannot."""

from __future__ import annotations

import json

import pytest

from tests.infra.template import Template, referred


@pytest.fixture
def planned(templates: dict[str, Template]) -> Template:
    """The template of the fleet with calendars."""
    return templates["planned"]


def test_fleet_without_calendars_has_no_planner(
    templates: dict[str, Template],
) -> None:
    assert templates["small"].functions("planner") == []
    assert len(templates["small"].all("Scheduler::ScheduleGroup")) == 1


def test_planner_looks_every_quarter_of_an_hour(planned: Template) -> None:
    (schedule,) = [
        each
        for each in planned.all("Scheduler::Schedule")
        if referred(each.of("Target.Arn")) == planned.function("planner").id
    ]

    assert schedule.of("ScheduleExpression") == "rate(15 minutes)"
    assert schedule.of("Target.RetryPolicy.MaximumEventAgeInSeconds") == 600


def test_planner_makes_schedules_in_its_own_group_only(planned: Template) -> None:
    role = planned.role_of(planned.function("planner").id)
    variables = planned.function("planner").of("Environment.Variables")
    group = referred(variables["SCHEDULE_GROUP"])

    assert planned.doings(role, "scheduler:") == {
        "scheduler:CreateSchedule",
        "scheduler:DeleteSchedule",
    }
    (where,) = planned.things(role, "scheduler:CreateSchedule")
    assert where.endswith(f":schedule/${{{group}}}/*")
    assert not [
        each
        for each in planned.all("Scheduler::Schedule")
        if referred(each.of("GroupName")) == group
    ]


def test_planner_passes_one_role_to_scheduler_and_nobody_else(
    planned: Template,
) -> None:
    role = planned.role_of(planned.function("planner").id)
    variables = planned.function("planner").of("Environment.Variables")
    passed = referred(variables["SCHEDULE_ROLE"])

    assert planned.things(role, "iam:PassRole") == {f"${{{passed}.Arn}}"}
    assert '"iam:PassedToService": "scheduler.amazonaws.com"' in json.dumps(
        planned.body
    )


def test_schedules_of_tasks_may_call_the_planner_alone(planned: Template) -> None:
    variables = planned.function("planner").of("Environment.Variables")
    role = referred(variables["SCHEDULE_ROLE"])
    planner = planned.function("planner").id
    (trust,) = planned[role].of("AssumeRolePolicyDocument.Statement")

    assert planned.things(role, "lambda:InvokeFunction") == {f"${{{planner}.Arn}}"}
    group = referred(variables["SCHEDULE_GROUP"])
    assert referred(trust["Condition"]["StringEquals"]["aws:SourceArn"]) == group


def test_planner_reads_its_calendars_secrets_and_no_events(planned: Template) -> None:
    role = planned.role_of(planned.function("planner").id)

    assert len(planned.things(role, "secretsmanager:GetSecretValue")) == 2
    assert planned.doings(role, "dynamodb:") == {
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:Query",
        "dynamodb:UpdateItem",
    }
    (read,) = planned.things(role, "s3:GetObject")
    assert read.endswith("/calendars/*")


def test_each_calendar_that_is_not_read_is_alarmed_by_silence(
    planned: Template,
) -> None:
    stale = [
        each
        for each in planned.all("CloudWatch::Alarm")
        if each.of("MetricName") == "CalendarRead"
    ]

    assert sorted(each.of("Dimensions")[0]["Value"] for each in stale) == [
        "board",
        "finance",
    ]
    for each in stale:
        assert each.of("TreatMissingData") == "breaching"
        assert (each.of("Period"), each.of("EvaluationPeriods")) == (3600, 3)


def test_libraries_of_calendars_go_to_the_planner_alone(planned: Template) -> None:
    zips = {
        name: str(planned.function(name).of("Code.S3Key"))
        for name in ("planner", "relay", "receiver", "worker")
    }

    assert len(set(zips.values())) >= 3
    assert zips["planner"] not in {zips["relay"], zips["receiver"], zips["worker"]}
