"""The local scheduler: zones, context attributes, holes in time, what it loses."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local.scheduler import Scheduler

NIGHT = datetime(2027, 3, 27, 23, 0, tzinfo=UTC)
ASKS = {
    "planned": "<aws.scheduler.scheduled-time>",
    "n": "<aws.scheduler.attempt-number>",
}


class Engine:
    """The engine's schedules, and what its functions were called with."""

    def __init__(self, **schedules: dict[str, Any]) -> None:
        self.schedules = schedules
        self.calls: list[tuple[str, Any]] = []
        self.lost: list[dict[str, Any]] = []
        self.failures = 0

    def client(self, service: str) -> Engine:  # noqa: ARG002
        return self

    def list_schedules(self, **_: Any) -> dict[str, Any]:
        listed = [
            {
                "Arn": f"arn:{n}",
                "Name": n,
                "GroupName": "g",
                "LastModificationDate": s["v"],
            }
            for n, s in self.schedules.items()
        ]
        return {"Schedules": listed}

    def get_schedule(self, *, Name: str, GroupName: str) -> dict[str, Any]:  # noqa: ARG002, N803
        told = self.schedules[Name]
        return {"Arn": f"arn:{Name}", "Target": {"Arn": Name, **told["target"]}} | told

    def delete_schedule(self, *, Name: str, GroupName: str) -> None:  # noqa: ARG002, N803
        del self.schedules[Name]

    def invoke(self, *, FunctionName: str, Payload: bytes, **_: Any) -> None:  # noqa: N803
        if self.failures:
            self.failures -= 1
            raise ConnectionError("no function")
        self.calls.append((FunctionName, json.loads(Payload)))

    def get_queue_url(self, *, QueueName: str) -> dict[str, str]:  # noqa: N803
        return {"QueueUrl": f"url of {QueueName}"}

    def send_message(self, **message: Any) -> None:
        self.lost.append(message)


def schedule(
    expression: str, zone: str = "UTC", *, asks: Any = ASKS, **more: Any
) -> dict[str, Any]:
    dead = {"DeadLetterConfig": {"Arn": "arn:aws:sqs:us-east-1:0:lost"}}
    told = {"ScheduleExpression": expression, "ScheduleExpressionTimezone": zone}
    return {**told, "v": 1, "target": {"Input": json.dumps(asks), **dead}, **more}


class Scene:
    def __init__(self, **schedules: dict[str, Any]) -> None:
        self.engine = Engine(**schedules)
        self.now = NIGHT
        self.scheduler = Scheduler(client=self.engine.client, now=lambda: self.now)
        self.scheduler.look()

    def until(self, end: datetime, step: timedelta = timedelta(seconds=30)) -> None:
        """Let time pass in small steps."""
        while self.now < end:
            self.now += step
            self.scheduler.look()

    @property
    def planned(self) -> list[str]:
        return [given["planned"] for _, given in self.engine.calls]


def test_fires_at_the_local_time_with_its_planned_time_put_in() -> None:
    scene = Scene(nightly=schedule("cron(30 2 * * ? *)", "Europe/Berlin"))

    scene.until(NIGHT + timedelta(hours=30))

    # On the 28th Berlin has no 02:30.
    given = {"planned": "2027-03-29T00:30:00Z", "n": "1"}
    assert scene.engine.calls == [("nightly", given)]


def test_every_fire_is_sent_once_however_often_it_looks() -> None:
    scene = Scene(often=schedule("rate(5 minutes)"))

    scene.until(NIGHT + timedelta(minutes=16), step=timedelta(seconds=1))

    assert scene.planned == [
        f"2027-03-27T23:{minute}:00Z" for minute in ("05", "10", "15")
    ]


def test_a_jump_of_the_clock_is_a_hole_in_which_nothing_is_sent() -> None:
    scene = Scene(
        hourly=schedule("cron(0 * * * ? *)"),
        sweep=schedule("rate(15 minutes)", asks={}),
    )

    scene.now = NIGHT + timedelta(days=3)
    scene.scheduler.look()

    # What carries no planned time is caught up with once.
    assert scene.engine.calls == [
        ("hourly", {"planned": "2027-03-30T23:00:00Z", "n": "1"}),
        ("sweep", {}),
    ]


def test_a_clock_that_is_put_back_sends_nothing_twice_at_once() -> None:
    scene = Scene(hourly=schedule("cron(0 * * * ? *)"))
    scene.until(NIGHT + timedelta(hours=1, minutes=1))

    scene.now = NIGHT + timedelta(minutes=30)
    scene.scheduler.look()

    assert scene.planned == ["2027-03-28T00:00:00Z"]


def test_disabled_schedules_stay_silent_and_changed_ones_are_read_again() -> None:
    scene = Scene(hourly=schedule("cron(0 * * * ? *)", State="DISABLED"))
    scene.until(NIGHT + timedelta(hours=1))
    scene.engine.schedules["hourly"] = schedule("cron(30 * * * ? *)", v=2)

    scene.until(NIGHT + timedelta(hours=2))

    assert scene.planned == ["2027-03-28T00:30:00Z"]


def test_a_schedule_made_at_run_time_fires_once_and_deletes_itself() -> None:
    scene = Scene()
    once = schedule("at(2027-03-28T09:00:00)", "Europe/Berlin")
    scene.engine.schedules["once"] = {**once, "ActionAfterCompletion": "DELETE"}

    scene.until(NIGHT + timedelta(hours=9))

    assert scene.planned == ["2027-03-28T07:00:00Z"]
    assert scene.engine.schedules == {}


@pytest.mark.parametrize(("failures", "sent", "lost"), [(2, 1, 0), (3, 0, 1)])
def test_a_call_that_fails_is_tried_again_and_then_kept(
    failures: int, sent: int, lost: int
) -> None:
    scene = Scene(hourly=schedule("cron(0 * * * ? *)"))
    scene.engine.failures = failures

    scene.until(NIGHT + timedelta(hours=1))

    assert len(scene.engine.calls) == sent
    assert [message["QueueUrl"] for message in scene.engine.lost] == [
        "url of lost"
    ] * lost


def test_it_says_how_far_it_has_come_and_what_is_next() -> None:
    scene = Scene(
        hourly=schedule("cron(0 * * * ? *)"), often=schedule("rate(1 minute)", asks={})
    )

    told = scene.scheduler.look()

    assert told["at"] == "2027-03-27T23:00:00.000Z"
    assert told["next"] == "2027-03-28T00:00:00.000Z"
