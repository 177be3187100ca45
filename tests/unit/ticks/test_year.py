"""A simulated year of schedules and outages: every miss is reported, and nothing else.

The real acceptance and the real watcher, over a clock and a table in memory. What was
due comes from a walk through every minute of the year, which shares no code with them;
Scheduler, its retries and Lambda's are played as documented.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest

from lambdas.shared.cron import period_of
from lambdas.shared.errors import Unavailable
from lambdas.shared.ticks import Tick, text_of
from tests.fakes.schedules import Clockwork
from tests.unit.cron import walk

START = datetime(2026, 10, 1, tzinfo=UTC)
LOOK = timedelta(minutes=5)
GRACE = timedelta(minutes=5)
RATE = timedelta(hours=6)

# Expression, zone and policy.
CRONS = {
    "hourly": ("0 * * * ? *", "Europe/Berlin", "skip"),
    "daily": ("30 2 * * ? *", "America/New_York", "skip"),
    "weekday": ("15 6 ? * MON-FRI *", "Europe/London", "queue"),
    "weekly": ("30 1 ? * SUN *", "Europe/Berlin", "concurrent"),
    "monthly": ("0 9 1 * ? *", "Asia/Kolkata", "skip"),
    "last-day": ("55 23 L * ? *", "Australia/Sydney", "queue"),
}
KEYS = {
    name: f'cron = "{cron}"\ntimezone = "{zone}"\noverlap = "{overlap}"'
    for name, (cron, zone, overlap) in CRONS.items()
}
KEYS["six-hourly"] = 'rate = "6 hours"'


@dataclass(frozen=True)
class Outage:
    """What does not work for a time.

    ``scheduler``: no tick is sent. ``all``: nothing works, the watcher neither.
    ``ledger``: ticks are sent and not taken; they are tried again, for as long as
    they may be.
    """

    kind: Literal["scheduler", "all", "ledger"]
    start: datetime
    end: datetime


@dataclass
class Truth:
    """One fire: when its tick came, if it did."""

    schedule: str
    due: datetime
    came: datetime | None = None


@dataclass
class World:
    """What happens, in order, and what really became of each fire."""

    clockwork: Clockwork
    outages: list[Outage]
    end: datetime
    fires: list[Truth] = field(default_factory=list)
    looks: list[datetime] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)

    def is_down(self, at: datetime, *kinds: str) -> Outage | None:
        return next(
            (o for o in self.outages if o.kind in kinds and o.start <= at < o.end),
            None,
        )

    def play(self) -> None:
        """Let the time pass: ticks and looks, in their order."""
        for at, what in heapq.merge(self._sent(), self._looks(), key=lambda e: e[0]):
            self.clockwork.clock.instant = at
            if isinstance(what, Truth):
                self._send(what)
            else:
                self.looks.append(at)
                self.found.update(self.clockwork.watcher.look())

    def _looks(self) -> Iterator[tuple[datetime, None]]:
        at = START + timedelta(seconds=17)
        while at < self.end:
            if not self.is_down(at, "all", "ledger"):
                yield at, None
            at += LOOK

    def _sent(self) -> Iterator[tuple[datetime, Truth]]:
        """Yield the ticks that reach the ledger, when they do."""
        arrivals = []
        for fire in self.fires:
            # Scheduler is exact to the minute.
            at = fire.due + timedelta(seconds=fire.due.hour % 60)
            if self.is_down(at, "scheduler", "all"):
                continue
            ledger = self.is_down(at, "ledger")
            if ledger is not None:
                at = ledger.end + timedelta(seconds=30)
                oldest = self._oldest(fire.schedule)
                if at - fire.due > oldest or self.is_down(at, "all", "ledger"):
                    continue
            arrivals.append((at, fire))
        return iter(sorted(arrivals, key=lambda arrival: arrival[0]))

    def _oldest(self, name: str) -> timedelta:
        """Return how long a tick is tried: less than the period, a day at most."""
        period = period_of(self.clockwork.schedule(name), START)
        assert period is not None
        return min(period - timedelta(minutes=1), timedelta(days=1))

    def _send(self, fire: Truth) -> None:
        name = fire.schedule
        self.clockwork.fire(name, fire.due)
        fire.came = self.clockwork.clock()
        (id_,) = Tick(schedule=name, planned=fire.due).ids
        self.clockwork.deliver(id_)


def fires_until(end: datetime) -> list[Truth]:
    found = []
    for name, (cron, zone, _) in CRONS.items():
        minutes = walk.minutes_of(zone, START, end)
        found += [Truth(name, due) for due in walk.fires(cron, minutes)]
    due = START + timedelta(hours=2, minutes=13, seconds=44)
    while due < end:
        found.append(Truth("six-hourly", due))
        due += RATE
    return found


def outages(count: int, end: datetime) -> list[Outage]:
    """Plant outages apart from each other, of ten minutes to two days."""
    chance = random.Random(7)  # noqa: S311 - repeatable, guards nothing
    share = (end - START) / count
    planted = []
    for number in range(count):
        start = START + share * number + share * chance.uniform(0.05, 0.3)
        hours = chance.choice([0.2, 0.7, 1.5, 3, 8, 26, 49])
        length = min(timedelta(hours=hours), share * 0.5)
        kind = ("scheduler", "scheduler", "ledger", "all")[number % 4]
        planted.append(Outage(kind, start, start + length))  # type: ignore[arg-type]
    return planted


def test_every_missed_fire_is_reported_within_its_grace_and_nothing_else(
    full_size: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    end = START + timedelta(days=365 if full_size else 49)
    clockwork = Clockwork(START, KEYS)
    planted = outages(40 if full_size else 8, end)
    world = World(clockwork, planted, end, fires_until(end))

    world.play()

    told = Counter(fires=len(world.fires), looks=len(world.looks))
    wrong = []
    for fire in world.fires:
        reported = clockwork.reported(fire.schedule).get(text_of(fire.due))
        limit = fire.due + GRACE
        # The first look after the grace; while nothing works there is none.
        judged = next((look for look in world.looks if look >= limit), None)
        if judged is None:
            continue
        is_missed = fire.came is None or fire.came > judged
        told["came"] += not is_missed
        told["missed"] += is_missed
        told["late"] += fire.came is not None and fire.came > limit
        if is_missed and reported is not None:
            told["reported within 5 minutes of grace"] += reported <= limit + LOOK
            told["reported when the watcher was back"] += reported > limit + LOOK
        if (reported == judged) if is_missed else (reported is None):
            continue
        wrong.append((fire, reported))
    with capsys.disabled():
        print(f"\n{len(planted)} outages in {(end - START).days} days: {dict(told)}")
    assert wrong == []
    assert told["missed"] == world.found["missed"] > 10
    assert told["late"] == world.found["late"]
    assert world.found["failed"] == world.found["overruns"] == 0


def test_reports_name_no_time_that_the_clock_left_out() -> None:
    """02:30 of 14 March 2027 does not exist in New York: nothing was missed."""
    start = datetime(2027, 3, 13, 12, tzinfo=UTC)
    clockwork = Clockwork(start, {"daily": KEYS["daily"]})

    for _ in range(12 * 36):
        clockwork.watcher.look()
        clockwork.clock.advance(LOOK.total_seconds())

    assert clockwork.reported("daily") == {}


def test_ledger_that_is_down_stops_the_heartbeat(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clockwork = Clockwork(START, KEYS)
    clockwork.table.failures = [Unavailable("down")]

    with pytest.raises(Unavailable):
        clockwork.watcher.look()

    assert "WatcherHeartbeat" not in capsys.readouterr().out
    assert clockwork.watcher.look()["missed"] == 0
    assert "WatcherHeartbeat" in capsys.readouterr().out
