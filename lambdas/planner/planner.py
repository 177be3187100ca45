"""Keeps the plan of each calendar true, and lets its work begin. Safe to repeat.

The order is what makes it so: rows of the ledger are changed first, each only if it
is still as it was read; then whatever is due begins; then the one-off schedules are
made equal to the rows. Whoever is stopped half-way, or runs beside another, leaves
nothing that the next look does not put right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from lambdas.planner.occurrence import Reading, Refused, Window, text_of
from lambdas.planner.plan import Asked, Change, Plan, plan
from lambdas.planner.record import Record
from lambdas.planner.rules import Rules
from lambdas.planner.task import TASK, State, Task, pk_of
from lambdas.shared.clock import Clock
from lambdas.shared.errors import (
    LONGEST_WAIT,
    BellhopError,
    Misconfigured,
    Unavailable,
)
from lambdas.shared.fleet import Calendar, Fleet
from lambdas.shared.ledger import TableLedger
from lambdas.shared.observe import count, logger
from lambdas.shared.table import Table

# What was over when nobody looked is still found at the next look, within reason.
_LOOK_BACK = timedelta(days=1)
_LONGEST_LOOK_BACK = timedelta(days=14)

# Scheduler puts the time in its place.
_PLANNED = "<aws.scheduler.scheduled-time>"


class Timetable(Protocol):
    """One-off schedules. Every call raises Unavailable or Misconfigured."""

    def put(self, name: str, at: datetime, told: str) -> None:
        """Make one that tells ``told`` then; the same one again changes nothing."""
        ...

    def drop(self, name: str) -> None:
        """Remove one, if it is there."""
        ...


class Feed(Protocol):
    """What a calendar holds, as its kind of feed is read."""

    def __call__(
        self, calendar: Calendar, window: Window, record: Record
    ) -> tuple[Reading, Record]:
        """Return what lies in the window, and what to remember for the next time.

        Raises:
            Refused, Misconfigured, Unavailable: it is not to be obeyed now.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Plans the calendars of a fleet."""

    fleet: Fleet
    ledger: TableLedger
    table: Table
    timetable: Timetable
    feeds: Mapping[str, Feed]
    rules_of: Callable[[Calendar], Rules]
    clock: Clock

    def look(self) -> dict[str, str]:
        """Plan every calendar; what is wrong with one costs the others nothing.

        Raises:
            Exception: the ledger or Scheduler failed for one, or we did; the others
                were planned.
        """
        found: dict[str, str] = {}
        failures: list[Exception] = []
        for calendar in self.fleet.calendars.values():
            try:
                found[calendar.name] = self._look(calendar)
            except Exception as error:
                failures.append(error)
                found[calendar.name] = _said(error)
                logger.error(
                    "calendar not planned", calendar=calendar.name, reason=_said(error)
                )
        if failures:
            raise failures[0]
        return found

    def fire(self, calendar_name: str, task_id: str, planned: str = "") -> str:
        """Begin a task whose schedule fired, if the plan still says so.

        ``planned`` is the time that the schedule was made for, as Scheduler tells
        it: its clock and ours are not the same to the second.
        """
        row = self.table.get(pk_of(calendar_name), f"{TASK}{task_id}")
        task = None if row is None else Task.from_row(row)
        if task is None or task.state is not State.PLANNED:
            return "nothing to do: " + (str(task.state) if task else "not planned")
        if task.begin_at > self.clock() and text_of(task.begin_at) != planned:
            # It was moved a moment ago: the schedule of its new time will come.
            return "nothing to do: it was moved"
        return self._begin(task)

    def known(self, calendar: Calendar) -> dict[str, Task]:
        """Return all that is remembered of a calendar's tasks, by id."""
        rows = self.table.query(pk_of(calendar.name), TASK)
        return {task.id: task for task in map(Task.from_row, rows)}

    def _look(self, calendar: Calendar) -> str:
        record = Record.read(self.table, calendar.name, self.clock())
        window, known = self._window(calendar, record), self.known(calendar)
        try:
            rules = self.rules_of(calendar)
            reading, read = self._read(calendar, window, record)
            asked = Asked(
                calendar=calendar.name,
                now=self.clock(),
                since=read.since,
                window=window,
                believe_shrink=read.is_shrink_believed,
            )
            made = plan(reading, known, rules, asked)
        except (Refused, Misconfigured, Unavailable) as error:
            # The feed is somebody else's affair: what is planned goes on.
            count("CalendarRefused", Calendar=calendar.name)
            logger.warning("feed not obeyed", calendar=calendar.name, why=str(error))
            said, record = f"not obeyed: {error}", self._refused(record, error)
        else:
            for change in made.changes:
                self._apply(change)
            self._tell(calendar, reading, made)
            said = f"{len(made.changes)} changes"
            record = read.obeyed(asked.now, made.held)
            count("CalendarRead", Calendar=calendar.name)
        self._begin_due(calendar)
        self._converge(calendar)
        record.write(self.table)
        return said

    def _refused(self, record: Record, error: BellhopError) -> Record:
        after = error.after if isinstance(error, Unavailable) else None
        until = self.clock() + after if after else record.wait_until
        return record.refused(str(error), wait_until=until)

    def _window(self, calendar: Calendar, record: Record) -> Window:
        now = self.clock()
        last = max(record.read_at or now, now - _LONGEST_LOOK_BACK)
        return window_of(calendar, now, since=min(last, now - _LOOK_BACK))

    def _read(
        self, calendar: Calendar, window: Window, record: Record
    ) -> tuple[Reading, Record]:
        read = self.feeds.get(calendar.feed)
        if read is None:
            raise Misconfigured(f"feed = {calendar.feed!r} is not read here")
        wait = record.wait_until and record.wait_until - self.clock()
        # Longer than anybody may ask for: our own clock ran ahead.
        if record.wait_until and wait and timedelta(0) < wait <= LONGEST_WAIT:
            until = text_of(record.wait_until)
            raise Unavailable(f"the other side asked not to be asked before {until}")
        try:
            return read(calendar, window, record)
        except BellhopError:
            raise
        except Exception as error:
            # A stranger's words found a hole in our reading. They are not repeated.
            logger.exception("feed not read", calendar=calendar.name)
            raise Refused(f"reading it failed: {type(error).__name__}") from error

    def _apply(self, change: Change) -> None:
        task = change.task
        if not self.table.put(task.to_row(), when=task.unchanged):
            # Another planner was quicker, or it has begun meanwhile: the next look
            # compares again.
            return
        logger.info(
            "task planned",
            calendar=task.calendar,
            task=task.id,
            state=str(task.state),
            deadline=text_of(task.deadline),
            begins=text_of(task.begin_at),
            why=change.why,
        )
        if task.state is State.BEGUN:
            self._tell_agent(task)
        if task.state is State.MISSED:
            count("TasksMissed", Calendar=task.calendar)

    def _tell_agent(self, task: Task) -> None:
        """Put what is new beside the event, where its run finds it."""
        news = {
            "deadline": text_of(task.deadline),
            "title": task.title,
            "cancelled": task.is_withdrawn,
            "at": text_of(self.clock()),
        }
        self.ledger.tell(task.id, news)

    def _begin_due(self, calendar: Calendar) -> None:
        """Begin what is due: what is late already, and what a lost schedule owed."""
        now = self.clock()
        for task in self.known(calendar).values():
            if task.state is State.PLANNED and task.begin_at <= now < task.over_at:
                self._begin(task)

    def _begin(self, task: Task) -> str:
        """Accept the task's event, then write down that it has begun.

        The event first: a crash between the two accepts it a second time, which the
        ledger refuses.
        """
        now = self.clock()
        is_new = self.ledger.accept(task.event(now))
        begun = replace(task, state=State.BEGUN)
        self.table.put(begun.to_row(), when=task.unchanged)
        if is_new:
            count("TasksBegun", Calendar=task.calendar)
        else:
            # Stopped between the two, and perhaps moved since.
            self._tell_agent(begun)
        logger.info(
            "task begun",
            calendar=task.calendar,
            task=task.id,
            seconds_late=round((now - task.begin_at).total_seconds()),
            duplicate=not is_new,
        )
        return "begun" if is_new else "nothing to do: begun before"

    def _converge(self, calendar: Calendar) -> None:
        """Make the one-off schedules equal to the plan.

        Which there may be stands in the tasks' rows: Scheduler lists those of an
        account only to who may see them all.
        """
        for task in self.known(calendar).values():
            is_ahead = task.begin_at > self.clock()
            wanted = task.schedule if task.state is State.PLANNED and is_ahead else ""
            if task.scheduled != wanted or task.leaving:
                self._reschedule(task, wanted)

    def _reschedule(self, task: Task, wanted: str) -> None:
        """Before a schedule is made or removed, its name is written down."""
        names = {task.scheduled, wanted, *task.leaving.split()} - {""}
        marked = replace(task, scheduled="", leaving=" ".join(sorted(names)))
        if not self.table.put(marked.to_row(), when=task.unchanged):
            return
        if wanted:
            told = {"calendar": task.calendar, "task": task.id, "planned": _PLANNED}
            self.timetable.put(wanted, task.begin_at, json.dumps(told))
        for name in names - {wanted}:
            self.timetable.drop(name)
        marked = replace(marked, version=task.version + 1)
        done = replace(marked, scheduled=wanted, leaving="")
        self.table.put(done.to_row(), when=marked.unchanged)

    def _tell(self, calendar: Calendar, reading: Reading, made: Plan) -> None:
        for why in made.held:
            count("CalendarHeld", Calendar=calendar.name)
            logger.warning("feed not obeyed", calendar=calendar.name, why=why)
        if reading.notes:
            logger.warning(
                "entries not read",
                calendar=calendar.name,
                notes=list(reading.notes[:10]),
            )


def _said(error: Exception) -> str:
    known = isinstance(error, BellhopError)
    return str(error) if known else f"failed: {type(error).__name__}"


def window_of(
    calendar: Calendar, now: datetime, *, since: datetime, days: int | None = None
) -> Window:
    """Return what is looked at: whatever may begin within ``days_ahead``."""
    ahead = timedelta(days=days or calendar.days_ahead)
    # Twice: business days stretch a buffer over weekends and holidays.
    longest = max((rule.buffer_hours for rule in calendar.rules), default=0)
    return Window(since=since, until=now + ahead + 2 * timedelta(hours=longest))
