"""The heartbeat: never shortens, and its lease ends before the message shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdas.shared.errors import BellhopError, Unavailable
from lambdas.shared.story import State
from lambdas.worker.holding import Holding
from lambdas.worker.polling.heartbeat import Heartbeat, World
from lambdas.worker.polling.hold import Hold
from tests.fakes.clock import FakeClock
from tests.fakes.ledger import FakeTable

VISIBILITY = 90
HOUR = 3600.0
MINE = Holding(event_id="github:1", agent="triage", token="mine")


@dataclass
class Sea:
    """Time, a queue and a ledger that take their own time to answer.

    ``now`` is the true time, in ticks; ``clock`` may be set. ``shows`` is when the
    queue shows the message; ``went_back`` notes every time that became earlier.
    """

    now: float = 1_000.0
    clock: FakeClock = field(default_factory=FakeClock)
    table: FakeTable = field(default_factory=FakeTable)
    shows: float = 0.0
    received: float = 0.0
    went_back: list[float] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    on_the_way: float = 0.0
    answering: float = 0.0
    is_lost: bool = False
    is_refused: bool = False
    lost: int = 0
    told: list[tuple[int, float]] = field(default_factory=list)
    errors: list[BellhopError | None] = field(default_factory=list)

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self.clock.advance(seconds)

    # The queue

    def hide(self, receipt: str, seconds: int) -> None:
        assert receipt == "receipt"
        self.asked.append(seconds)
        self.passes(self.on_the_way)
        if self.is_refused:
            raise Unavailable("the queue is away")
        if self.now + seconds > self.received + 12 * HOUR:
            raise AssertionError("SQS refuses more than 12 hours")
        if self.now < self.shows and self.now + seconds < self.shows:
            self.went_back.append(self.shows - self.now - seconds)
        self.shows = self.now + seconds
        self.passes(self.answering)
        if self.is_lost:
            raise Unavailable("the answer was lost")

    # Who hears of it

    def renewed(self, holding: Holding, ends_ms: int, until: float) -> None:
        assert holding == MINE
        self.told.append((ends_ms, until))

    def lost_(self) -> None:
        self.lost += 1

    def beaten(self, error: BellhopError | None) -> None:
        self.errors.append(error)

    @property
    def row(self) -> dict[str, Any]:
        return self.table.rows[MINE.event_id, f"run#{MINE.agent}"]


class Listener:
    def __init__(self, sea: Sea) -> None:
        self.renewed, self.lost, self.beaten = sea.renewed, sea.lost_, sea.beaten


def at_sea() -> tuple[Sea, Hold, Heartbeat]:
    """A message received just now, its run claimed a moment later."""
    sea = Sea()
    asked = sea.received = sea.now
    sea.shows = sea.now + VISIBILITY
    hold = Hold(asked=asked, answered=sea.now, visibility_seconds=VISIBILITY)
    world = World(queue=sea, table=sea.table, clock=sea.clock, ticking=lambda: sea.now)
    heart = Heartbeat("receipt", hold, world, Listener(sea), period_seconds=30)
    lease_ends_ms = sea.clock.ms + int((hold.leased_until - sea.now) * 1000)
    sea.table.put(
        {
            "pk": MINE.event_id,
            "sk": f"run#{MINE.agent}",
            "state": State.PROCESSING,
            "claim_token": "mine",
            "due_at": lease_ends_ms,
        }
    )
    heart.claimed(MINE, lease_ends_ms)
    return sea, hold, heart


@dataclass(frozen=True)
class Beat:
    """What happens around one beat."""

    pause: float
    on_the_way: float
    answering: float
    trouble: str
    clock_jumps: float


BEATS = st.lists(
    st.builds(
        Beat,
        pause=st.one_of(
            st.floats(0, 45), st.floats(0, 120), st.just(30.0), st.floats(0, 2000)
        ),
        on_the_way=st.floats(0, 20),
        answering=st.floats(0, 20),
        trouble=st.sampled_from(["", "", "", "", "refused", "lost", "ledger"]),
        clock_jumps=st.sampled_from([0, 0, 0, 0, -HOUR, HOUR, -5, 5, 86_400]),
    ),
    max_size=60,
)


@settings(max_examples=400, deadline=None)
@given(beats=BEATS, start=st.sampled_from([0.0, 11.95 * HOUR, 11.97 * HOUR]))
def test_heartbeat_never_shortens_and_its_lease_ends_before_the_message_shows(
    beats: list[Beat], start: float
) -> None:
    """Whatever pauses, answers that are late or lost, and a clock that jumps do."""
    sea, hold, heart = at_sea()
    sea.shows += start
    hold.asked(sea.now, sea.now + start, VISIBILITY, done=False)
    hold.asked(sea.now + start, sea.now + start, VISIBILITY, done=True)
    sea.passes(start)
    heart.claimed(MINE, sea.clock.ms + (VISIBILITY - 5) * 1000)
    due_before = 0
    until_before = 0.0
    for beat in beats:
        sea.passes(beat.pause)
        sea.clock.instant += timedelta(seconds=beat.clock_jumps)
        sea.on_the_way, sea.answering = beat.on_the_way, beat.answering
        sea.is_refused, sea.is_lost = beat.trouble == "refused", beat.trouble == "lost"
        if beat.trouble == "ledger":
            sea.table.failures = [Unavailable("the ledger is away")]
        known_after = len(sea.told)

        heart.beat()

        sea.table.failures = []
        assert sea.went_back == []
        assert hold.surely_until <= sea.shows
        assert sea.row["due_at"] >= due_before
        due_before = sea.row["due_at"]
        for _, until in sea.told[known_after:]:
            assert until_before <= until <= sea.shows - hold.margin
            until_before = until
        if sea.lost:
            assert sea.asked == [] or sea.now >= until_before
            break


@settings(max_examples=100, deadline=None)
@given(
    waits=st.lists(st.floats(0, 40), min_size=5, max_size=200),
    late=st.floats(0, 5),
)
def test_a_heart_that_beats_in_time_keeps_the_message_hidden_and_leased(
    waits: list[float], late: float
) -> None:
    sea, _, heart = at_sea()
    sea.on_the_way = sea.answering = late
    for wait in waits:
        sea.passes(wait)
        heart.beat()
        assert sea.now < sea.shows
        assert sea.clock.ms < sea.row["due_at"]
    assert sea.lost == 0
    assert sea.row["due_at"] == max(ends_ms for ends_ms, _ in sea.told)


def test_visibility_is_extended_before_the_lease() -> None:
    sea, _, heart = at_sea()
    sea.passes(30)
    sea.is_refused = True

    heart.beat()

    assert sea.told == []
    assert isinstance(sea.errors[0], Unavailable)


def test_lease_is_lost_once_the_ledger_names_another() -> None:
    sea, _, heart = at_sea()
    sea.passes(30)
    sea.row["claim_token"] = "another's"

    heart.beat()
    heart.beat()

    assert (sea.lost, sea.told) == (1, [])


def test_nothing_is_asked_of_a_message_that_may_be_another_s() -> None:
    """An old receipt might hide it from whoever works on it now."""
    sea, _, heart = at_sea()
    sea.passes(VISIBILITY)

    heart.beat()

    assert (sea.lost, sea.asked) == (1, [])


def test_lease_is_lost_at_its_end_though_the_message_is_hidden() -> None:
    """The ledger was away for too long."""
    sea, hold, heart = at_sea()
    for _ in range(3):
        sea.passes(29)
        sea.table.failures = [Unavailable("away")]
        heart.beat()

    assert sea.now < hold.surely_until
    assert sea.lost == 1


@pytest.mark.parametrize("jump", [-HOUR, HOUR], ids=["back", "ahead"])
def test_clock_that_jumps_leaves_a_lease_that_the_ledger_knows(jump: float) -> None:
    """Set back, it would leave a lease in the ledger that others find over."""
    sea, _, heart = at_sea()
    true_ms = sea.clock.ms
    sea.clock.instant += timedelta(seconds=jump)
    for _ in range(4):
        sea.passes(30)
        heart.beat()

    assert sea.lost == 0
    assert sea.row["due_at"] >= true_ms + (120 + VISIBILITY - 5) * 1000


def test_no_beat_comes_after_the_finish() -> None:
    sea, _, heart = at_sea()
    sea.passes(30)

    heart.finish()
    heart.beat()

    assert (sea.asked, sea.told) == ([], [])


def test_nothing_is_asked_beyond_twelve_hours_from_the_receive() -> None:
    sea, hold, heart = at_sea()
    while sea.now < hold.limit + 300 and not sea.lost:
        sea.passes(30)
        heart.beat()

    assert sea.lost == 1
    assert 0 <= sea.received + 12 * HOUR - sea.shows <= 120
