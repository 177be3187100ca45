"""A tick comes: it is run, put in line, skipped or missed, and each is written down.

Everything here may happen twice, at once or after a crash: Scheduler, and Lambda
behind it, deliver a tick at least once. A tick that is not to run gets its run row
(SKIPPED, MISSED) before its event, and the row refuses every later claim: whatever
a second delivery decides, a tick has one end.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import assert_never

from lambdas.shared.clock import Clock, milliseconds
from lambdas.shared.cron import times_of
from lambdas.shared.fleet import Agent, Fleet, Schedule
from lambdas.shared.ledger import EVENT_ROW, TableLedger
from lambdas.shared.observe import count, logger
from lambdas.shared.story import RUN, Category, Reason, State
from lambdas.shared.table import NEW, Table
from lambdas.shared.ticks.line import Line
from lambdas.shared.ticks.tick import Tick, text_of


class Fired(StrEnum):
    """What became of a tick that came."""

    #: Accepted: its agent runs.
    RUN = "run"
    #: An earlier one is not over: it is in line, and runs after it.
    WAITING = "waiting"
    #: An earlier one is not over: it is written down and not run.
    SKIPPED = "skipped"
    #: It came too late: it is written down and not run.
    MISSED = "missed"
    #: It came before; nothing was done.
    DUPLICATE = "duplicate"


_METRICS = {
    Fired.WAITING: "TicksWaiting",
    Fired.SKIPPED: "TicksSkipped",
    Fired.MISSED: "TicksTooLate",
}


@dataclass(frozen=True, kw_only=True)
class Ticks:
    """Takes the ticks of a fleet's schedules."""

    fleet: Fleet
    ledger: TableLedger
    table: Table
    clock: Clock

    def line(self, schedule: Schedule) -> Line:
        """Return the line of a schedule."""
        return Line(
            schedule,
            self.fleet.agents[schedule.agent],
            ledger=self.ledger,
            table=self.table,
            clock=self.clock,
        )

    def fire(
        self, schedule: Schedule, planned: datetime, *, however_late: bool = False
    ) -> Fired:
        """Take the tick of ``schedule`` that was planned for then.

        ``however_late``: a person asks for it, who knows how late it is.

        Raises:
            Unavailable, Misconfigured: the ledger; the same call may come again.
        """
        tick = Tick.of(schedule, planned)
        line = self.line(schedule)
        too_late = None if however_late else self._too_late(schedule, planned)
        fired = self._fire(schedule, tick, line, too_late)
        line.note(planned)
        if fired is not Fired.DUPLICATE:
            # Only now: a metric must not tell of a tick that is not written down.
            count("CronTickFired", Schedule=schedule.name)
        if fired in _METRICS:
            count(_METRICS[fired], Schedule=schedule.name)
        logger.info(
            "tick taken",
            schedule=schedule.name,
            planned=text_of(planned),
            seconds_late=round((self.clock() - planned).total_seconds(), 1),
            fired=str(fired),
        )
        return fired

    def run_over(self, schedule_name: str) -> None:
        """Let the next tick in line begin, if there is one: a run has ended.

        Called for every run of a tick; it costs nothing where no tick waits in line.
        """
        schedule = self.fleet.schedules.get(schedule_name)
        if schedule is not None and schedule.overlap == "queue":
            self.line(schedule).advance()

    def _fire(
        self, schedule: Schedule, tick: Tick, line: Line, too_late: Reason | None
    ) -> Fired:
        if self._is_known(tick):
            return Fired.DUPLICATE
        if too_late is not None:
            self._set_aside(schedule, tick, State.MISSED, too_late)
            return Fired.MISSED
        match schedule.overlap:
            case "concurrent":
                return self._accept(tick)
            case "queue":
                return self._queue(tick, line)
            case "skip":
                ahead = line.take(tick)
                if ahead is None:
                    return self._accept(tick)
                reason = _reason(
                    Category.OVERLAP, "Overlap", f"the tick of {ahead} was not over"
                )
                self._set_aside(schedule, tick, State.SKIPPED, reason)
                return Fired.SKIPPED
            case other:
                assert_never(other)

    def _is_known(self, tick: Tick) -> bool:
        return all(self.table.get(id_, EVENT_ROW) is not None for id_ in tick.ids)

    def _accept(self, tick: Tick) -> Fired:
        new = [self.ledger.accept(event) for event in tick.events(self.clock())]
        return Fired.RUN if any(new) else Fired.DUPLICATE

    def _queue(self, tick: Tick, line: Line) -> Fired:
        is_new = line.put(tick)
        planned = [each.planned for each in line.advance()]
        if tick.planned in planned or self._is_known(tick):
            return Fired.RUN
        return Fired.WAITING if is_new else Fired.DUPLICATE

    def _too_late(self, schedule: Schedule, planned: datetime) -> Reason | None:
        """Return why a tick that comes now is not run any more, if so."""
        longest = schedule.max_lateness_seconds
        if longest is None or schedule.catch_up == "all":
            return None
        now = self.clock()
        window = timedelta(minutes=schedule.flexible_minutes)
        late = now - planned - window
        if late <= timedelta(seconds=longest):
            return None
        said = (
            f"it came {late.total_seconds():.0f} s late,"
            f" max_lateness_seconds is {longest}"
        )
        if schedule.catch_up == "last":
            following = next(times_of(schedule, anchor=planned).after(planned), None)
            if following is None or following > now:
                return None
            said += f", and the tick of {text_of(following)} is due as well"
        return _reason(Category.TOO_LATE, "TooLate", said)

    def _set_aside(
        self, schedule: Schedule, tick: Tick, state: State, reason: Reason
    ) -> None:
        """Write down a tick that is not to run; the relay passes over its events."""
        now = self.clock()
        agent: Agent = self.fleet.agents[schedule.agent]
        for event in tick.events(now):
            run = {
                "pk": event.id,
                "sk": f"{RUN}{agent.key}",
                "state": state,
                "attempt": 0,
                "carrier": "",
                "generation": 0,
                "reason": reason.to_row(),
                "finished_at": milliseconds(now),
                "expires_at": self.ledger.expires_at(event),
            }
            self.table.put(run, when=NEW)
            self.ledger.accept(event, ignored=True)


def _reason(category: Category, kind: str, message: str) -> Reason:
    # The fault is the schedule's own, whichever tick meets it: equal fingerprints.
    return Reason(category=category, type=kind, message=message, fingerprint=kind)
