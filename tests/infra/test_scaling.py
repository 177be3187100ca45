"""How many containers there are: by the template's own alarms, steps and hours."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from lambdas.shared.fleet import Agent
from stacks.fargate import attended
from stacks.fargate.scaling import MOST_STEPS, sizes_to
from tests.infra.cloudwatch.alarms import SCALING, Alarm, Metric, read, telling
from tests.infra.cloudwatch.states import State
from tests.infra.polling import AGENTS, queue_of, service_of
from tests.infra.template import Resource, Template, referred

MOST = {"digger": 10, "night-shift": 1, "researcher": 40}


def _alarm(template: Template, agent: str, policy: str) -> Alarm:
    """Return the alarm that calls one of an agent's two policies."""
    queue = f"${{{queue_of(template, agent).id}.QueueName}}"
    for each in template.all("CloudWatch::Alarm"):
        called = template[referred(each.of("AlarmActions"))]
        alarm = read(each)
        names = {m.metric.dimensions[0][1] for m in alarm.watches.values()}
        if called.type != SCALING or called.of("PolicyName") != policy:
            continue
        if queue in names:
            return alarm
    raise AssertionError(f"{agent} has no alarm for {policy}")


def _size(template: Template, alarm: Alarm, backlog: int) -> int:
    """Return what Application Auto Scaling would set, by its documented steps."""
    policy = template[referred(template[alarm.id].of("AlarmActions"))]
    how = policy.of("StepScalingPolicyConfiguration")
    assert how["AdjustmentType"] == "ExactCapacity"
    beyond = backlog - alarm.threshold
    (size,) = [
        step["ScalingAdjustment"]
        for step in how["StepAdjustments"]
        if step.get("MetricIntervalLowerBound", float("-inf")) <= beyond
        and beyond < step.get("MetricIntervalUpperBound", float("inf"))
    ]
    target = template[referred(policy.of("ScalingTargetId"))]
    assert size <= target.of("MaxCapacity")
    return max(int(size), int(target.of("MinCapacity")))


def _counts(alarm: Alarm, waiting: int, working: int) -> dict[Metric, list[float]]:
    counted = {
        "ApproximateNumberOfMessagesVisible": [float(waiting)],
        "ApproximateNumberOfMessagesNotVisible": [float(working)],
    }
    return {
        watch.metric: counted[watch.metric.name] for watch in alarm.watches.values()
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_from_nothing_one_message_starts_onecontainer_of(
    hours: Template, agent: str
) -> None:
    alarm = _alarm(hours, agent, "Busy")

    before = alarm.period(_counts(alarm, 0, 0))
    after = alarm.period(_counts(alarm, 1, 0))

    assert (before, after) == (State.OK, State.ALARM)
    assert _size(hours, alarm, 1) == 1


@pytest.mark.parametrize("agent", AGENTS)
def test_a_container_at_work_is_always_counted(hours: Template, agent: str) -> None:
    """Its message is hidden, and the only one: there is still one container for it."""
    busy, idle = _alarm(hours, agent, "Busy"), _alarm(hours, agent, "Idle")

    for _ in range(10):
        assert busy.period(_counts(busy, 0, 1)) is State.ALARM
        assert idle.period(_counts(idle, 0, 1)) is State.OK


@pytest.mark.parametrize("agent", AGENTS)
def test_without_work_there_are_none_after_five_minutes(
    hours: Template, agent: str
) -> None:
    alarm = _alarm(hours, agent, "Idle")

    # It looks back at minutes before the first, which count as idle: fill them.
    for _ in range(7):
        alarm.period(_counts(alarm, 1, 0))
    states = [alarm.period(_counts(alarm, 0, 0)) for _ in range(6)]

    assert states.index(State.ALARM) == 4
    assert _size(hours, alarm, 0) == 0


@pytest.mark.parametrize("agent", AGENTS)
def test_a_queue_that_is_not_counted_any_more_counts_as_empty(
    hours: Template, agent: str
) -> None:
    """SQS ceases to count a queue that nobody has looked at for six hours."""
    idle, busy = _alarm(hours, agent, "Idle"), _alarm(hours, agent, "Busy")
    for _ in range(8):
        idle.period({})
        busy.period({})

    assert idle.state is State.ALARM
    assert busy.state is not State.ALARM


@pytest.mark.parametrize("agent", AGENTS)
def test_there_is_a_container_for_each_message_up_to_the_cap(
    hours: Template, agent: str
) -> None:
    alarm, most = _alarm(hours, agent, "Busy"), MOST[agent]
    sizes = [_size(hours, alarm, backlog) for backlog in range(1, 3 * most + 2)]

    for backlog, size in enumerate(sizes, start=1):
        wanted = min(backlog, most)
        assert wanted <= size <= max(wanted, round(1.5 * wanted))
    assert sizes == sorted(sizes)
    assert sizes[-1] == most
    if most <= MOST_STEPS:
        assert sizes[:most] == list(range(1, most + 1))


def test_sizes_grow_to_any_cap_within_the_steps_there_are() -> None:
    for most in range(1, 1001):
        sizes = sizes_to(most)

        assert sizes[0] == 1
        assert sizes[-1] == most
        assert all(low < high for low, high in pairwise(sizes))
        assert len(sizes) == min(most, MOST_STEPS)


def test_scaling_alarms_tell_nobody(hours: Template) -> None:
    silent = {each.id for each in hours.all("CloudWatch::Alarm")} - {
        each.id for each in telling(hours)
    }

    assert len(silent) == 2 * len(AGENTS)
    for alarm in silent:
        assert hours[alarm].of("OKActions") is None
        assert "runbooks" not in hours[alarm].of("AlarmDescription")


def test_one_container_is_kept_in_business_hours(hours: Template) -> None:
    """Where none runs, nobody would say that nothing arrives."""
    kept = {
        agent: {
            each["ScheduledActionName"]: (
                each["Schedule"],
                each["Timezone"],
                each["ScalableTargetAction"]["MinCapacity"],
            )
            for each in _target(hours, agent).of("ScheduledActions") or []
        }
        for agent in AGENTS
    }

    assert kept["digger"] == {}
    assert kept["researcher"] == {
        "Open": ("cron(0 9 ? * MON,TUE,WED,THU,FRI *)", "Europe/Berlin", 1),
        "Close": ("cron(0 18 ? * MON,TUE,WED,THU,FRI *)", "Europe/Berlin", 0),
    }
    assert kept["night-shift"] == {
        "Open": ("cron(0 22 ? * MON,FRI *)", "UTC", 1),
        "Close": ("cron(0 6 ? * TUE,SAT *)", "UTC", 0),
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_there_are_never_more_than_max_concurrency(hours: Template, agent: str) -> None:
    target = _target(hours, agent)

    assert (target.of("MinCapacity"), target.of("MaxCapacity")) == (0, MOST[agent])


def _target(template: Template, agent: str) -> Resource:
    service = service_of(template, agent).id
    (found,) = [
        each
        for each in template.all("ApplicationAutoScaling::ScalableTarget")
        if service in json.dumps(each.of("ResourceId"))
    ]
    return found


@pytest.mark.parametrize(
    ("hours", "least", "schedules"),
    [
        (None, 0, []),
        ("MON-SUN 00:00-24:00", 1, []),
        (
            "MON-FRI 00:00-24:00",
            0,
            ["cron(0 0 ? * MON *)", "cron(0 0 ? * SAT *)"],
        ),
        (
            "SAT,SUN 08:30-24:00",
            0,
            ["cron(30 8 ? * SAT,SUN *)", "cron(0 0 ? * MON,SUN *)"],
        ),
    ],
)
def test_hours_that_follow_on_each_other_neither_end_nor_begin(
    hours: str | None, least: int, schedules: list[str]
) -> None:
    agent = Agent(name="a", run="agents.a:run", on=(), business_hours=hours)

    assert attended.least(agent) == least
    assert [each.schedule for each in attended.changes(agent)] == schedules
