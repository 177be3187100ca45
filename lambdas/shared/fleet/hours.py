"""Business hours: when work is expected, so that its absence means something."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo

#: The days of a week as hours and cron expressions spell them, Monday first.
DAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_DAY = "|".join(DAYS)
_SPAN = rf"(?:{_DAY})(?:-(?:{_DAY}))?"
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d"

#: ``MON-FRI 09:00-18:00``, ``MON,WED,SAT-SUN 22:00-06:00``.
HOURS = re.compile(rf"({_SPAN}(?:,{_SPAN})*) ({_TIME})-({_TIME}|24:00)")


class NoHoursError(ValueError):
    """A text that names no hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BusinessHours:
    """The hours from ``opens`` until ``closes`` of some days, local to ``zone``.

    ``days`` are those on which the hours begin, Monday is 0. Hours that close at
    or before they open end on the next day; ``closes`` is None for midnight.
    """

    days: frozenset[int]
    opens: time
    closes: time | None
    zone: tzinfo

    def open_for(self, now: datetime) -> timedelta | None:
        """Return how long it has been open without a break; None while closed.

        Hours that follow on each other (``00:00-24:00``) are one stretch, looked
        back at for a week.
        """
        since: datetime | None = None
        for back in range(8):
            opened, closed = self._hours_of(now, back)
            joins = opened <= now < closed if since is None else closed == since
            if joins:
                since = opened
        return None if since is None else now - since

    def _hours_of(self, now: datetime, back: int) -> tuple[datetime, datetime]:
        """Return the hours that began ``back`` days ago; none if not on that day."""
        day = now.astimezone(self.zone).date() - timedelta(days=back)
        opened = datetime.combine(day, self.opens, self.zone)
        if day.weekday() not in self.days:
            return opened, opened
        over_night = self.closes is None or self.closes <= self.opens
        until = day + timedelta(days=1) if over_night else day
        closed = datetime.combine(until, self.closes or time(0), self.zone)
        # Compared as instants: arithmetic within one zone ignores its clock changes.
        return opened.astimezone(now.tzinfo), closed.astimezone(now.tzinfo)


def business_hours(text: str, timezone: str) -> BusinessHours:
    """Read hours like ``MON-FRI 09:00-18:00``, local to the IANA ``timezone``.

    Raises:
        NoHoursError: they are spelled otherwise, or the zone is unknown here.
    """
    # Imported here: the functions read the fleet, and only a worker its hours.
    from zoneinfo import ZoneInfo

    found = HOURS.fullmatch(text)
    if found is None:
        raise NoHoursError(f"want hours like 'MON-FRI 09:00-18:00', got {text!r}")
    spans, opens, closes = found.groups()
    try:
        zone = ZoneInfo(timezone)
    except (KeyError, ValueError, OSError) as error:
        raise NoHoursError(f"no time zone {timezone!r} here") from error
    return BusinessHours(
        days=frozenset(day for span in spans.split(",") for day in _days(span)),
        opens=time.fromisoformat(opens),
        closes=None if closes == "24:00" else time.fromisoformat(closes),
        zone=zone,
    )


def _days(span: str) -> list[int]:
    first, _, last = span.partition("-")
    start = DAYS.index(first)
    length = (DAYS.index(last or first) - start) % 7 + 1
    return [(start + step) % 7 for step in range(length)]
