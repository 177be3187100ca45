"""The watcher: a schedule that does not fire cannot say so, so somebody else does.

It knows from a schedule's own expression when it was due, looks into the ledger
whether the tick came, and follows it until its runs have ended. What it finds is
reported before it is written down: after a crash it is reported twice, never not at
all. It also lets the next tick in line begin where a crash kept others from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile

from lambdas.shared.clock import milliseconds
from lambdas.shared.cron import Times, times_of
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import Schedule
from lambdas.shared.ledger import EVENT_ROW
from lambdas.shared.observe import count, logger
from lambdas.shared.story import State
from lambdas.shared.table import NEW
from lambdas.shared.ticks import (
    MISSED,
    Fired,
    Line,
    Look,
    Standing,
    Tick,
    Ticks,
    pk_of,
    planned_of,
    text_of,
)
from lambdas.watcher.record import WATCH, Followed, Record, promise_of

# After a long outage a schedule of every minute owes thousands of fires: so many are
# judged in one look, the rest in the next ones.
_JUDGED_AT_ONCE = 500


@dataclass(slots=True, kw_only=True)
class Found:
    """What one look found of one schedule, or of all."""

    missed: int = 0
    late: int = 0
    overruns: int = 0
    failed: int = 0

    def add(self, other: Found) -> None:
        """Add the counts of ``other``."""
        self.missed += other.missed
        self.late += other.late
        self.overruns += other.overruns
        self.failed += other.failed


class Watcher:
    """Looks at all schedules of a fleet."""

    def __init__(self, ticks: Ticks, *, delete: Callable[[str, str], None]) -> None:
        """``delete`` removes a row of the ledger by its two keys."""
        self._ticks = ticks
        self._table = ticks.table
        self._delete = delete

    def look(self) -> dict[str, int]:
        """Look at every schedule once, and return what was found in all.

        Raises:
            Unavailable, Misconfigured: a schedule could not be looked at; the others
                were. There is no heartbeat then.
        """
        total = Found()
        failures: list[BellhopError] = []
        for schedule in self._ticks.fleet.schedules.values():
            try:
                total.add(self._look(schedule))
            except BellhopError as error:
                failures.append(error)
                logger.warning(
                    "schedule not looked at",
                    schedule=schedule.name,
                    reason=str(error),
                )
        if failures:
            raise failures[0]
        count("WatcherHeartbeat")
        return asdict(total)

    def _look(self, schedule: Schedule) -> Found:
        now = self._ticks.clock()
        row = self._table.get(pk_of(schedule.name), WATCH)
        old = None if row is None else Record.from_row(row)
        line = self._ticks.line(schedule)
        is_new = old is None or old.promise != promise_of(schedule)
        record = Record.new(schedule, now, old) if old is None or is_new else old
        look = _Look(self._ticks, schedule, line, record, now)
        record = look.judged()
        _tell(schedule, look.found)
        record = self._advance(schedule, line, record)
        if record != old:
            # Refused where another look was quicker: it has told the same.
            self._table.put(record.to_row(pk_of(schedule.name)), when=record.unchanged)
        return look.found

    def _advance(self, schedule: Schedule, line: Line, record: Record) -> Record:
        """Let the next tick in line begin; also after the schedule gave up its line."""
        if schedule.overlap != "queue" and not record.was_in_line:
            return record
        for tick in line.advance():
            logger.info(
                "tick let in",
                schedule=schedule.name,
                planned=text_of(tick.planned),
            )
        line.forget_released(self._delete)
        has_line = schedule.overlap == "queue" or line.oldest() is not None
        return replace(record, was_in_line=has_line)


class _Look:
    """One look at one schedule."""

    def __init__(
        self,
        ticks: Ticks,
        schedule: Schedule,
        line: Line,
        record: Record,
        now: datetime,
    ) -> None:
        self.found = Found()
        self._ticks = ticks
        self._schedule = schedule
        self._line = line
        self._record = record
        self._now = now
        self._window = timedelta(minutes=schedule.flexible_minutes)
        self._grace = timedelta(seconds=schedule.grace_seconds)

    def judged(self) -> Record:
        """Judge what has become due, follow what was, and return the new record."""
        followed = [f for f in map(self._follow, self._record.followed) if f]
        until = self._record.until
        for due in self._due():
            new = self._judge(due)
            followed += [new] if new else []
            until = due
        return replace(
            self._record,
            until=until,
            followed=tuple(followed),
        )

    def _due(self) -> Iterator[datetime]:
        """Yield the fires that should have come by now and are not judged yet."""
        if not self._schedule.enabled:
            return iter(())
        settled = self._now - self._grace - self._window
        coming = self._times().after(self._record.until)
        return islice(takewhile(lambda due: due <= settled, coming), _JUDGED_AT_ONCE)

    def _times(self) -> Times:
        """Return when the schedule is due; a rate goes on from its newest tick.

        One that never came is due a period after the first look.
        """
        anchor = self._record.since
        if self._schedule.rate is not None:
            text = self._line.state().get("last_planned")
            last = None if text is None else planned_of(text)
            anchor = last if last is not None and last > anchor else anchor
        return times_of(self._schedule, anchor=anchor)

    def _judge(self, due: datetime) -> Followed | None:
        came = self._came(due)
        if came is None:
            self._miss(due)
            if self._schedule.catch_up is None:
                return Followed(planned=due, is_missing=True)
            fired = self._ticks.fire(self._schedule, due)
            return None if fired is Fired.MISSED else Followed(planned=due)
        if came > due + self._window + self._grace:
            self.found.late += 1
        return self._follow(Followed(planned=due))

    def _follow(self, tick: Followed) -> Followed | None:
        """Look where a tick is; None when there is nothing more to come of it."""
        if tick.is_missing and self._came(tick.planned) is None:
            return None if tick.is_old(self._now) else tick
        look = self._line.look(self._ids(tick.planned))
        states = _states(look)
        if State.MISSED in states:
            if not tick.is_missing:
                self._miss(tick.planned)
            return None
        if tick.is_missing:
            self.found.late += 1
            tick = replace(tick, is_missing=False)
        if not tick.has_overrun and self._has_overrun(tick.planned, look):
            self.found.overruns += 1
            tick = replace(tick, has_overrun=True)
        if look.standing is Standing.GOING or self._may_be_accepted(tick, look):
            return tick
        if look.standing is not Standing.OVER or State.DEAD in states:
            self.found.failed += 1
        return None

    def _may_be_accepted(self, tick: Followed, look: Look) -> bool:
        """Whether a tick that is only in line, or half accepted, is not given up."""
        if look.standing is not Standing.UNACCEPTED:
            return False
        is_in_line = self._line.waits_since(tick.planned) is not None
        return is_in_line or not tick.is_old(self._now)

    def _has_overrun(self, planned: datetime, look: Look) -> bool:
        """Whether its runs took longer than the time to the next fire.

        Counted from acceptance: a tick that came late or stood in line is not to
        blame for that.
        """
        received = self._received(planned)
        following = next(self._times().after(planned), None)
        if received is None or following is None or State.SKIPPED in _states(look):
            return False
        ends = [run.get("finished_at") for run in look.runs]
        if look.standing is Standing.GOING or None in ends:
            end = milliseconds(self._now)
        else:
            end = max((int(each) for each in ends if each), default=0)
        return end > milliseconds(max(received, planned) + (following - planned))

    def _came(self, planned: datetime) -> datetime | None:
        """Return when a tick came; None when it has not."""
        if self._schedule.overlap == "queue":
            written_ms = self._line.waits_since(planned)
            if written_ms is not None:
                return datetime.fromtimestamp(written_ms / 1000, UTC)
        return self._received(planned)

    def _received(self, planned: datetime) -> datetime | None:
        row = self._ticks.table.get(self._ids(planned)[0], EVENT_ROW)
        return None if row is None else datetime.fromisoformat(row["received_at"])

    def _ids(self, planned: datetime) -> list[str]:
        return Tick.of(self._schedule, planned).ids

    def _miss(self, due: datetime) -> None:
        self.found.missed += 1
        ticks = self._ticks
        event = Tick.of(self._schedule, due).events(self._now)[0]
        row = {
            "pk": pk_of(self._schedule.name),
            "sk": f"{MISSED}{text_of(due)}",
            "reported_at": milliseconds(self._now),
            "expires_at": ticks.ledger.expires_at(event),
        }
        ticks.table.put(row, when=NEW)
        logger.error("fire missed", schedule=self._schedule.name, planned=text_of(due))


def _states(look: Look) -> set[str]:
    return {run["state"] for run in look.runs}


def _tell(schedule: Schedule, found: Found) -> None:
    """Emit what was found, for the schedule and over the fleet."""
    for name, value in (
        ("MissedFires", found.missed),
        ("LateFires", found.late),
        ("Overruns", found.overruns),
        ("FailedTicks", found.failed),
    ):
        if value:
            count(name, value, Schedule=schedule.name)
