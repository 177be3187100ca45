"""What /healthz says: well, stuck, or quieter than it should be."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lambdas.shared.fleet import Agent
from lambdas.worker.polling.pulse import Part, Pulse
from tests.fakes.clock import FakeClock

AGENT = Agent(
    name="triage", run="agents.triage:run", on=(), compute="fargate", stall_seconds=300
)
# A Wednesday.
MORNING = datetime(2026, 11, 25, 8, 0, tzinfo=UTC)


class Body:
    """A pulse, and the time that passes."""

    def __init__(self, agent: Agent = AGENT) -> None:
        self.clock = FakeClock(MORNING)
        self.now = 0.0
        self.pulse = Pulse(agent, self.clock, lambda: self.now, wait_seconds=20)
        self.pulse.started()

    def passes(self, seconds: float, *, polling: bool = False) -> None:
        self.now += seconds
        self.clock.advance(seconds)
        if polling:
            self.pulse.polled()

    @property
    def says(self) -> tuple[int, str]:
        report = self.pulse.report()
        return report.status, report.state


def test_worker_that_waits_is_idle_and_one_that_works_says_at_what() -> None:
    body = Body()
    assert body.says == (200, "idle")

    body.pulse.began("m1")
    body.pulse.claimed("github:1", 2)
    body.passes(7)

    assert body.says == (200, "working")
    assert body.pulse.report().to_json() == {
        "state": "working",
        "agent": "triage",
        "message_id": "m1",
        "since": "2026-11-25T08:00:00.000Z",
        "event": "github:1",
        "attempt": 2,
        "started": "2026-11-25T08:00:00.000Z",
        "last_sign_seconds_ago": 7,
        "last_arrival": "2026-11-25T08:00:00.000Z",
    }
    body.pulse.ended()
    assert body.says == (200, "idle")


def test_hours_of_work_with_signs_of_life_are_well() -> None:
    body = Body()
    body.pulse.began("m1")
    for _ in range(100):
        body.passes(290)
        body.pulse.signed()
        assert body.says == (200, "working")


def test_run_that_stalls_and_is_not_ended_is_stuck() -> None:
    body = Body()
    body.pulse.began("m1")

    body.passes(359)
    assert body.says == (200, "working")
    body.passes(2)

    assert body.says == (503, "stuck")
    assert body.pulse.report().why == "no sign of life for 361 s, and not ended"


def test_dead_poller_is_stuck() -> None:
    body = Body()
    body.passes(79)
    assert body.says == (200, "idle")

    body.passes(2)

    assert body.says == (503, "stuck")


@pytest.mark.parametrize("what", ["the queue", "the heartbeat", "the child"])
def test_what_fails_for_a_minute_is_stuck_until_it_works(what: Part) -> None:
    """Counted from the first failure, however often it fails."""
    body = Body()
    for _ in range(6):
        body.pulse.fails(what, "unreachable")
        assert body.says == (200, "idle")
        body.passes(10)
        body.pulse.turned()

    assert body.says == (503, "stuck")
    assert body.pulse.report().why == f"{what} fails for 60 s: unreachable"
    body.pulse.works(what)
    assert body.says == (200, "idle")


def test_failed_poll_is_forgotten_once_the_queue_has_answered() -> None:
    body = Body()
    body.pulse.fails("the queue", "unreachable")
    body.passes(10, polling=True)

    body.passes(61, polling=True)

    assert body.says == (200, "idle")


def test_heartbeat_that_failed_is_forgotten_with_its_run() -> None:
    body = Body()
    body.pulse.began("m1")
    body.pulse.fails("the heartbeat", "unreachable")
    body.pulse.ended()

    body.passes(61, polling=True)

    assert body.says == (200, "idle")


def test_worker_asked_to_stop_says_so_also_at_work() -> None:
    body = Body()
    body.pulse.began("m1")
    body.pulse.stopping()

    assert body.says == (200, "stopping")


def test_worker_is_starting_until_its_child_is_there() -> None:
    pulse = Pulse(AGENT, FakeClock(MORNING), lambda: 0.0, wait_seconds=20)

    assert pulse.report().state == "starting"


EXPECTING = replace(
    AGENT,
    business_hours="MON-FRI 09:00-18:00",
    timezone="UTC",
    expect_every_minutes=30,
)


def test_quiet_business_hours_are_degraded_and_no_reason_to_restart() -> None:
    body = Body(EXPECTING)
    body.passes(3600 + 29 * 60, polling=True)
    assert body.pulse.report().degraded is None

    body.passes(60, polling=True)

    report = body.pulse.report()
    assert (report.status, report.state) == (200, "idle")
    assert report.degraded == "nothing has arrived for 30 minutes"
    body.pulse.began("m1")
    body.pulse.ended()
    assert body.pulse.report().degraded is None


def test_quiet_outside_of_business_hours_is_as_it_should_be() -> None:
    body = Body(EXPECTING)
    body.passes(10 * 3600 + 60, polling=True)  # 18:01

    assert body.pulse.report().degraded is None


def test_quiet_is_counted_from_when_the_worker_came() -> None:
    """One that was started at noon has not seen the morning's work."""
    body = Body(EXPECTING)
    late = Pulse(EXPECTING, body.clock, lambda: body.now, wait_seconds=20)
    body.passes(4 * 3600)
    late = Pulse(EXPECTING, body.clock, lambda: body.now, wait_seconds=20)
    body.passes(29 * 60)

    assert late.report().degraded is None
    body.passes(60)
    assert late.report().degraded == "nothing has arrived for 30 minutes"
