"""Calendars whose feed is written by hand; Scheduler in memory, all else is real."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from lambdas.planner import ical
from lambdas.planner.planner import Planner
from lambdas.planner.sources import IcalFeed
from lambdas.planner.task import Task
from lambdas.planner.wiring import rules_of
from lambdas.shared.fleet import parse
from lambdas.shared.ledger import TableLedger
from lambdas.shared.story import RUN
from lambdas.shared.table import NEW
from tests.fakes.clock import FakeClock
from tests.fakes.ledger import FakeBodies
from tests.fakes.schedules import BigTable

FLEET = """
[agents.closer]
run = "agents.hello:run"

[calendars.finance]
timezone = "America/New_York"
rules = [
  { category = "month-end-close", agent = "closer" },
  { category = "weekly-client-digest", agent = "closer" },
  { category = "review", agent = "closer", title = "Review*", buffer_hours = 24 },
]
"""


class FakeTimetable:
    """A :class:`lambdas.planner.planner.Timetable` in memory."""

    def __init__(self) -> None:
        self.at: dict[str, tuple[datetime, str]] = {}
        self.calls: list[str] = []

    def put(self, name: str, at: datetime, told: str) -> None:
        self.calls.append("put")
        self.at.setdefault(name, (at, told))

    def drop(self, name: str) -> None:
        self.calls.append("drop")
        self.at.pop(name, None)

    def due(self, now: datetime) -> list[tuple[datetime, dict[str, str]]]:
        """Take out what fires by ``now``; a schedule that fired is gone."""
        fired = sorted((at, told, n) for n, (at, told) in self.at.items() if at <= now)
        for _, _, name in fired:
            del self.at[name]
        return [(at, json.loads(told)) for at, told, _ in fired]


@dataclass
class FakeSite:
    """The other side of a feed: ``body`` is served until told otherwise."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    error: Exception | None = None
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def __call__(self, url: str, *, headers: Mapping[str, str], **_: Any) -> Any:
        self.asked.append((url, dict(headers)))
        if self.error is not None:
            raise self.error
        etag = self.headers.get("etag")
        if etag and headers.get("if-none-match") == etag:
            return _Answer(304, self.headers, b"")
        return _Answer(self.status, self.headers, self.body)


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Office:
    """A fleet with the calendar ``finance``; ``events`` are its entries by UID."""

    def __init__(
        self,
        start: datetime,
        *,
        fleet: str = FLEET,
        table: Any = None,
        timetable: Any = None,
    ) -> None:
        self.clock = FakeClock(start)
        self.table: Any = BigTable() if table is None else table
        self.ledger = TableLedger(self.table, FakeBodies(), ledger_days=45)
        self.timetable: Any = FakeTimetable() if timetable is None else timetable
        self.site = FakeSite()
        self.bodies = FakeBodies()
        self.events: dict[str, str] = {}
        self.fleet = parse(fleet)
        self.begun: list[tuple[datetime, str]] = []
        self.planner = self.new_planner()

    def new_planner(self) -> Planner:
        """Return another planner over the same ledger."""
        return Planner(
            fleet=self.fleet,
            ledger=self.ledger,
            table=self.table,
            timetable=self.timetable,
            feeds={
                "ical": IcalFeed(
                    address_of=lambda _: "webcal://feeds.example/secret.ics",
                    exchange=self.site,
                    bodies=self.bodies,
                    expand=lambda body, window, zone: ical.expand(
                        body, window, ical.utc_or(zone)
                    ),
                )
            },
            rules_of=rules_of,
            clock=self.clock,
        )

    def put(self, uid: str, title: str, start: str, *lines: str) -> None:
        """Add an entry, or replace it; ``start`` is like ``DTSTART`` with its zone."""
        given = [f"UID:{uid}", f"SUMMARY:{title}", f"DTSTART{start}", *lines]
        self.events[uid] = "\r\n".join(["BEGIN:VEVENT", *given, "END:VEVENT"])

    def look(self) -> dict[str, str]:
        """Let the planner look at the feed as it is now."""
        self.site.body = calendar(*self.events.values())
        found = self.planner.look()
        self._note()
        return found

    def go(self, until: datetime, *, every: timedelta = timedelta(hours=6)) -> None:
        """Let time pass: schedules fire to the second, the planner looks in between."""
        while self.clock.instant < until:
            upto = min(until, self.clock.instant + every)
            self._fire(upto)
            self.clock.instant = upto
            self.look()

    def tasks(self) -> dict[str, Task]:
        """Return what is remembered, by id."""
        return self.planner.known(self.fleet.calendars["finance"])

    def states(self) -> dict[str, str]:
        """Return the states by the ids, without the calendar's name."""
        return {
            id_.removeprefix("calendar:finance:"): str(task.state)
            for id_, task in self.tasks().items()
        }

    def _fire(self, upto: datetime) -> None:
        for at, told in self.timetable.due(upto):
            self.clock.instant = max(self.clock.instant, at)
            self.planner.fire(told["calendar"], told["task"])
            self._note()

    def _note(self) -> None:
        """Note, as the relay would, which events are new; each is in one row."""
        for pk, sk in list(self.table.rows):
            if sk != "event":
                continue
            mark = {"pk": pk, "sk": f"{RUN}closer"}
            if self.table.put(mark, when=NEW):
                self.begun.append((self.clock.instant, pk))


def calendar(*entries: str, tail: str = "END:VCALENDAR\r\n") -> bytes:
    """Return a feed of these entries."""
    head = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//tests//EN\r\n"
    return (head + "".join(f"{e}\r\n" for e in entries) + tail).encode()


def utc(text: str) -> datetime:
    """Return an instant in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


START = utc("2026-11-20T12:00:00")


def close(office: Office, uid: str = "close", day: str = "20261128") -> None:
    """Put a month-end close into the calendar, due at 17:00 UTC."""
    office.put(uid, "Month-end close", f":{day}T170000Z")
