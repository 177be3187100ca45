"""A calendar of Google's in place of an iCal feed; what is put into it is the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from lambdas.planner import ical
from lambdas.planner.google.api import Api
from lambdas.planner.planner import Planner
from lambdas.planner.sources import GoogleFeed
from lambdas.shared.adapters.google import Tokens
from tests.fakes.calendars import FLEET, Office
from tests.fakes.google import CALENDAR, FakeGoogle, service_account

GOOGLE = FLEET.replace(
    'timezone = "America/New_York"',
    f'timezone = "America/New_York"\nfeed = "google"\ncalendar_id = "{CALENDAR}"',
)


class GoogleOffice(Office):
    """An :class:`Office` whose entries lie at Google."""

    def __init__(self, start: datetime, *, page: int = 2500, **words: Any) -> None:
        self.google = FakeGoogle(page=page)
        self.key = service_account()
        self.pauses: list[float] = []
        self._told: dict[str, str] = {}
        super().__init__(start, **{"fleet": GOOGLE, **words})

    def new_planner(self) -> Planner:
        """Return another planner over the same ledger."""
        api = Api(
            exchange=self.google.exchange,
            token_of=Tokens(self.google.exchange).get,
            pause=self.pauses.append,
            spread=lambda: 1.0,
        )
        feed = GoogleFeed(
            key_of=lambda _: self.key,
            api=api,
            bodies=self.bodies,
            expand=lambda body, window, zone: ical.expand(
                body, window, ical.utc_or(zone)
            ),
        )
        return replace(super().new_planner(), feeds={"google": feed})

    def look(self) -> dict[str, str]:
        """Let the planner look at the calendar as it is now."""
        for uid, text in self.events.items():
            if self._told.get(uid) != text:
                self.google.put(event(text))
        for uid in self._told.keys() - self.events.keys():
            self.google.delete(uid)
        self._told = dict(self.events)
        found = self.planner.look()
        self._note()
        return found


def reviews(office: GoogleOffice, count: int, *, name: str = "review") -> None:
    """Put so many reviews into the calendar, each on a day of its own."""
    for number in range(count):
        office.put(f"{name}{number}", "Review", f":202612{number + 1:02}T120000Z")


def planned(office: GoogleOffice) -> int:
    """Return how many tasks are planned."""
    return list(office.states().values()).count("planned")


def event(text: str) -> dict[str, Any]:
    """Return an entry written as iCalendar in the form of Google's API."""
    lines = dict(line.split(":", 1) for line in text.split("\r\n")[1:-1])
    (named,) = [name for name in lines if name.startswith("DTSTART")]
    start, end = _times(named, lines[named])
    made: dict[str, Any] = {
        "id": lines["UID"],
        "summary": lines["SUMMARY"],
        "start": start,
        "end": end,
    }
    if "RRULE" in lines:
        made["recurrence"] = [f"RRULE:{lines['RRULE']}"]
    if lines.get("STATUS") == "CANCELLED":
        return {"id": lines["UID"], "status": "cancelled"}
    return made


def _times(name: str, value: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    if "VALUE=DATE" in name:
        day = datetime.strptime(value, "%Y%m%d").date()  # noqa: DTZ007 - a day
        return {"date": f"{day}"}, {"date": f"{day + timedelta(days=1)}"}
    zone = name.partition("TZID=")[2] or "UTC"
    when = datetime.strptime(value.rstrip("Z"), "%Y%m%dT%H%M%S")  # noqa: DTZ007 - next
    when = when.replace(tzinfo=ZoneInfo(zone))
    end = when + timedelta(hours=1)
    return (
        {"dateTime": when.isoformat(), "timeZone": zone},
        {"dateTime": end.isoformat(), "timeZone": zone},
    )
