"""The sweep: what the relay lost is found again, and a backlog is left alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdas.shared.errors import Unavailable
from lambdas.shared.event import Content, Event
from lambdas.shared.fleet import parse
from lambdas.shared.ledger import Via
from lambdas.sweep.cursor import Cursor
from lambdas.sweep.sweep import Sweep, Tally
from tests.fakes.bus import FakeBacklogs, FakeBus
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.ledger import FakeLedger

_FLEET = parse("""
    [sources.github]
    [agents.triage]
    run = "agents.triage:run"
    on = [{ source = "github", kind = "push" }]
    [agents.greeter]
    was = "hello"
    run = "agents.greeter:run"
    on = [{ source = "github", kind = "issues.opened" }]
""")
_HOUR = timedelta(hours=1)


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


class Scene:
    """A sweep, and the ledger, queues and bus around it, in memory."""

    def __init__(self) -> None:
        self.bus, self.backlogs = FakeBus(), FakeBacklogs()
        self.ledger, self.clock = FakeLedger(), FakeClock()

    @property
    def fresh(self) -> Sweep:
        return Sweep(
            agents=_FLEET.agents.values(),
            bus=self.bus,
            ledger=self.ledger,
            table=self.ledger.table,
            backlogs=self.backlogs,
            clock=self.clock,
        )

    def sweep(self, *, has_time: Callable[[], bool] = lambda: True) -> Tally:
        return self.fresh.run("sweep", has_time=has_time)

    def sweep_for(self, time: timedelta) -> None:
        """Sweep every quarter of an hour, as the schedule does."""
        until = self.clock.instant + time
        while self.clock.instant < until:
            self.clock.instant += minutes(15)
            self.sweep()

    def accept(
        self,
        name: str,
        at: datetime,
        *,
        kind: str = "push",
        via: Via = "door",
        ignored: bool = False,
    ) -> str:
        event = Event(
            id=f"github:{name}",
            source="github",
            kind=kind,
            occurred_at=at,
            received_at=at,
            content=Content(b"{}"),
        )
        self.ledger.accept(event, via=via, ignored=ignored)
        return event.id

    def begin(self, event_id: str, agent: str = "triage") -> None:
        self.ledger.table.put({"pk": event_id, "sk": f"run#{agent}", "state": "DEAD"})

    @property
    def unheard(self) -> set[str]:
        return {pk for pk, sk in self.ledger.table.rows if sk == "unheard"}


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    scene.sweep()  # the first one only marks where reading begins
    return scene


def test_a_lost_event_is_relayed_once(scene: Scene) -> None:
    lost = scene.accept("lost", NOON + minutes(5))

    scene.sweep_for(24 * _HOUR)

    assert scene.bus.ids == [lost]


def test_an_event_has_45_minutes_to_be_begun(scene: Scene) -> None:
    scene.accept("young", NOON + minutes(14))

    scene.clock.instant = NOON + minutes(59)
    scene.sweep()
    assert scene.bus.ids == []
    scene.clock.instant = NOON + minutes(60)
    scene.sweep()

    assert scene.bus.ids == ["github:young"]


def _begun(scene: Scene, at: datetime) -> None:
    scene.begin(scene.accept("1", at))


def _begun_under_its_old_name(scene: Scene, at: datetime) -> None:
    scene.begin(scene.accept("1", at, kind="issues.opened"), agent="hello")


def _unheard_then(scene: Scene, at: datetime) -> None:
    scene.ledger.unheard(scene.accept("1", at), 1)


@pytest.mark.parametrize(
    "make",
    [
        _begun,
        _begun_under_its_old_name,
        _unheard_then,
        lambda scene, at: scene.accept("1", at, ignored=True),
        lambda scene, at: scene.accept("1", at, via="queue"),
        lambda scene, at: scene.accept("k" * 10, at, kind="k" * 200),
    ],
    ids=["begun", "renamed", "unheard", "ignored", "from AWS", "unpublishable"],
)
def test_what_is_accounted_for_is_left_alone(
    scene: Scene, make: Callable[[Scene, datetime], Any]
) -> None:
    make(scene, NOON + minutes(5))

    scene.sweep_for(3 * _HOUR)

    assert scene.bus.ids == []


def test_an_event_that_nobody_hears_is_called_unheard(scene: Scene) -> None:
    event_id = scene.accept("1", NOON + minutes(5), kind="star")

    scene.sweep_for(3 * _HOUR)

    assert scene.unheard == {event_id}
    assert scene.bus.ids == []


def test_what_may_wait_in_a_queue_is_not_relayed_until_the_queue_is_empty(
    scene: Scene,
) -> None:
    waiting = scene.accept("waiting", NOON + minutes(5))
    lost = scene.accept("lost", NOON + minutes(6))
    scene.backlogs.messages = {"triage": 1}

    scene.sweep_for(6 * _HOUR)
    assert scene.bus.ids == []
    scene.begin(waiting)
    scene.backlogs.messages = {}
    scene.sweep_for(2 * _HOUR)

    assert scene.bus.ids == [lost]


def test_another_agents_backlog_holds_nothing_up(scene: Scene) -> None:
    lost = scene.accept("lost", NOON + minutes(5))
    scene.backlogs.messages = {"greeter": 5_000}

    scene.sweep_for(2 * _HOUR)

    assert scene.bus.ids == [lost]


def test_what_was_overtaken_is_lost_although_the_queue_is_never_empty(
    scene: Scene,
) -> None:
    lost = scene.accept("lost", NOON + minutes(5))
    scene.begin(scene.accept("neighbour", NOON + minutes(19)))
    later = scene.accept("later", NOON + minutes(31))
    scene.backlogs.messages = {"triage": 1}
    scene.sweep_for(2 * _HOUR)
    assert scene.bus.ids == []

    scene.begin(later)
    scene.sweep_for(2 * _HOUR)

    assert scene.bus.ids == [lost]


def test_a_queue_has_dropped_it_after_four_days(scene: Scene) -> None:
    lost = scene.accept("lost", NOON + minutes(5))
    scene.backlogs.messages = {"triage": 1}

    scene.sweep_for(timedelta(days=4))
    assert scene.bus.ids == []
    scene.sweep_for(_HOUR)

    assert scene.bus.ids == [lost]


def test_a_backlog_of_an_hour_is_not_doubled(scene: Scene) -> None:
    """Redelivering whatever has no run yet would publish nearly all of it again."""
    events = [scene.accept(str(n), NOON + minutes(n / 5)) for n in range(300)]
    queue = list(events)

    while queue:
        scene.clock.instant += minutes(15)
        for event_id in queue[:30]:
            scene.begin(event_id)
        queue = queue[30:]
        scene.backlogs.messages = {"triage": len(queue)}
        scene.sweep()
    scene.sweep_for(4 * _HOUR)

    assert scene.bus.ids == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 300), st.booleans(), st.integers(0, 90)),
        max_size=12,
    )
)
def test_exactly_the_lost_events_are_relayed_whatever_the_backlog(
    told: list[tuple[int, bool, int]],
) -> None:
    scene = Scene()
    scene.sweep()
    lost, queue, free_at = set(), [], 0
    for number, (minute, is_lost, takes) in enumerate(sorted(told)):
        event_id = scene.accept(str(number), NOON + minutes(minute))
        if is_lost:
            lost.add(event_id)
        else:
            # One worker, in order: each begins when the one before it is done.
            free_at = max(free_at, minute) + takes
            queue.append((minute, free_at, event_id))

    for minute in range(0, free_at + 500, 15):
        scene.clock.instant = NOON + minutes(minute)
        waiting = 0
        for accepted, begins, event_id in queue:
            if begins <= minute:
                scene.begin(event_id)
            elif accepted <= minute:
                waiting += 1
        scene.backlogs.messages = {"triage": waiting}
        scene.sweep()

    assert sorted(scene.bus.ids) == sorted(lost)


def test_a_sweep_that_was_down_for_a_day_catches_up_in_portions(scene: Scene) -> None:
    lost = {scene.accept(str(n), NOON + n * _HOUR) for n in range(24)}
    scene.clock.instant = NOON + 25 * _HOUR

    assert scene.sweep().windows == 16
    assert 0 < len(scene.bus.ids) < len(lost)
    scene.sweep_for(2 * _HOUR)

    assert sorted(scene.bus.ids) == sorted(lost)


def test_a_sweep_that_runs_out_of_time_goes_on_where_it_stopped(scene: Scene) -> None:
    lost = [scene.accept(str(n), NOON + n * minutes(15)) for n in range(3)]
    scene.clock.instant = NOON + 2 * _HOUR
    answers = iter([True, True, True, True, False])  # from 11:15 on

    scene.sweep(has_time=lambda: next(answers))
    assert scene.bus.ids == lost[:1]
    scene.sweep()

    assert scene.bus.ids == lost


def test_a_failure_leaves_the_window_to_the_next_sweep(scene: Scene) -> None:
    lost = scene.accept("lost", NOON + minutes(5))
    scene.clock.instant = NOON + _HOUR
    scene.bus.failures = [Unavailable("busy")]

    with pytest.raises(Unavailable):
        scene.sweep()
    scene.sweep()

    assert scene.bus.ids == [lost]


def test_of_two_sweeps_at_once_one_does_nothing(scene: Scene) -> None:
    scene.accept("lost", NOON + minutes(5))
    scene.clock.instant = NOON + _HOUR
    cursor = Cursor(scene.ledger.table)
    assert cursor.take("other", scene.clock()) is not None

    assert scene.sweep() == Tally()

    assert scene.bus.ids == []


def test_a_sweep_that_died_holds_the_cursor_for_ten_minutes(scene: Scene) -> None:
    lost = scene.accept("lost", NOON + minutes(5))
    scene.clock.instant = NOON + _HOUR
    cursor = Cursor(scene.ledger.table)
    progress = cursor.take("dead", scene.clock())
    assert progress is not None

    scene.clock.instant += minutes(11)
    scene.sweep()

    assert scene.bus.ids == [lost]
    assert not cursor.advance("dead", progress)


def test_agents_that_left_the_fleet_are_forgotten(scene: Scene) -> None:
    scene.accept("1", NOON + minutes(5), kind="issues.opened")
    scene.backlogs.messages = {"greeter": 1}
    scene.sweep_for(2 * _HOUR)
    kept = _FLEET.agents["triage"]
    scene.clock.instant += minutes(15)

    Sweep(
        agents=[kept],
        bus=scene.bus,
        ledger=scene.ledger,
        table=scene.ledger.table,
        backlogs=scene.backlogs,
        clock=scene.clock,
    ).run("sweep", has_time=lambda: True)

    row = scene.ledger.table.rows["cursor#sweep", "cursor"]
    assert "greeter" not in row["progress"]
    assert scene.bus.ids == []


def test_what_the_bus_refuses_is_counted_and_left(scene: Scene) -> None:
    lost = scene.accept("lost", NOON + minutes(5))
    scene.bus.refused = {lost}
    scene.clock.instant = NOON + _HOUR

    tally = scene.sweep()

    assert (tally.relayed, tally.refused) == (0, 1)


def test_an_operator_relays_a_time_window_whatever_the_queues_hold(
    scene: Scene,
) -> None:
    lost = scene.accept("lost", NOON + minutes(5))
    scene.begin(scene.accept("begun", NOON + minutes(6)))
    nobody = scene.accept("nobody", NOON + minutes(7), kind="star")
    scene.accept("after", NOON + _HOUR)
    scene.backlogs.messages = {"triage": 10}

    counted = scene.fresh.relay(NOON, NOON + _HOUR, publish=False)
    assert (scene.bus.ids, scene.unheard) == ([], set())
    done = scene.fresh.relay(NOON, NOON + _HOUR)

    assert counted == done == Tally(read=3, relayed=1, unheard=1)
    assert scene.bus.ids == [lost]
    assert scene.unheard == {nobody}


def test_a_backlog_that_never_ends_does_not_hide_what_was_lost(scene: Scene) -> None:
    """Every event waits for three hours, so no window is decided when first read."""
    lost = scene.accept("lost", NOON + minutes(3))
    events = [
        (minute, scene.accept(str(minute), NOON + minutes(minute)))
        for minute in range(0, 600, 5)
    ]
    scene.backlogs.messages = {"triage": 36}

    for minute in range(15, 600, 15):
        scene.clock.instant = NOON + minutes(minute)
        for accepted, event_id in events:
            if accepted + 180 <= minute:
                scene.begin(event_id)
        scene.sweep()
        is_known = minute >= 30 + 180
        assert scene.bus.ids == ([lost] if is_known else [])
