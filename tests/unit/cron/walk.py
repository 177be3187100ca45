"""Finds fires the slow way: every minute of a time is looked at, one by one.

Shares nothing with the code under test: expressions are read by splitting strings,
days are judged by walking the month, local times come from stepping through UTC.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

MONTHS = [name.upper() for name in calendar.month_abbr]
WEEKDAYS = ["", "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


@dataclass(frozen=True)
class Minute:
    """One minute of real time, and what a clock on the wall shows then."""

    instant: datetime
    year: int
    month: int
    day: int
    hour: int
    minute: int


def minutes_of(zone: str, start: datetime, end: datetime) -> list[Minute]:
    """Step through the UTC minutes, leaving out those whose wall time came before."""
    seen = set()
    found = []
    while start < end:
        wall = start.astimezone(ZoneInfo(zone))
        shown = (wall.year, wall.month, wall.day, wall.hour, wall.minute)
        if shown not in seen:
            seen.add(shown)
            found.append(Minute(start, *shown))
        start += timedelta(minutes=1)
    return found


def fires(expression: str, minutes: Iterable[Minute]) -> list[datetime]:
    """Return the minutes at which the expression fires."""
    minute, hour, day, month, weekday, year = expression.split()
    wanted_minutes = allowed(minute, range(60), [])
    wanted_hours = allowed(hour, range(24), [])
    wanted_months = allowed(month, range(1, 13), MONTHS)
    wanted_years = allowed(year, range(1970, 2200), [])
    is_day = day_judge(day, weekday)
    judged: dict[tuple[int, int, int], bool] = {}
    found = []
    for each in minutes:
        if each.minute not in wanted_minutes or each.hour not in wanted_hours:
            continue
        key = (each.year, each.month, each.day)
        if key not in judged:
            judged[key] = (
                each.month in wanted_months
                and each.year in wanted_years
                and is_day(date(*key))
            )
        if judged[key]:
            found.append(each.instant)
    return found


def allowed(text: str, every: range, names: list[str]) -> set[int]:
    """Return which of ``every`` a field allows, by asking each value."""
    return {
        value
        for value in every
        if any(_is(p, value, every, names) for p in text.split(","))
    }


def _is(part: str, value: int, every: range, names: list[str]) -> bool:
    def number(word: str) -> int:
        return names.index(word) if word in names else int(word)

    step = 1
    if "/" in part:
        part, _, by = part.partition("/")
        step = int(by)
        if "-" not in part and part != "*":
            part = f"{part}-{every[-1]}"
    if part == "*":
        return (value - every[0]) % step == 0
    first, _, last = part.partition("-")
    low, high = number(first), number(last or first)
    return low <= value <= high and (value - low) % step == 0


def day_judge(day: str, weekday: str) -> Callable[[date], bool]:
    """Return what says whether a date is one of the days."""
    if weekday == "?":
        return _by_day(day)
    return _by_weekday(weekday)


def _by_day(text: str) -> Callable[[date], bool]:
    if text == "L":
        return lambda d: (d + timedelta(days=1)).day == 1
    if text == "LW":
        return lambda d: d == _workdays(d)[-1]
    if text.endswith("W"):
        return lambda d: d == _nearest(d, int(text[:-1]))
    numbers = allowed(text, range(1, 32), [])
    return lambda d: d.day in numbers


def _by_weekday(text: str) -> Callable[[date], bool]:
    if text == "L":
        return lambda d: d.strftime("%a") == "Sat"
    if text.endswith("L"):
        name = _name(text[:-1])
        return lambda d: (
            d.strftime("%a").upper() == name
            and (d + timedelta(days=7)).month != d.month
        )
    if "#" in text:
        which, _, nth = text.partition("#")
        return lambda d: (
            d.strftime("%a").upper() == _name(which) and (d.day + 6) // 7 == int(nth)
        )
    numbers = allowed(text, range(1, 8), WEEKDAYS)
    return lambda d: WEEKDAYS.index(d.strftime("%a").upper()) in numbers


def _name(text: str) -> str:
    return WEEKDAYS[int(text)] if text.isdigit() else text


def _workdays(d: date) -> list[date]:
    last = calendar.monthrange(d.year, d.month)[1]
    days = [date(d.year, d.month, n) for n in range(1, last + 1)]
    return [each for each in days if each.strftime("%a") not in {"Sat", "Sun"}]


def _nearest(d: date, number: int) -> date | None:
    if number > calendar.monthrange(d.year, d.month)[1]:
        return None
    wanted = date(d.year, d.month, number)
    # A Sunday is one day from Monday and two from Friday, a Saturday the reverse.
    return min(_workdays(d), key=lambda each: abs((each - wanted).days))


def transitions(zone: str, start: int, years: int) -> list[datetime]:
    """Return the instants at which the zone's clock is put forward or back."""
    info = ZoneInfo(zone)
    at = datetime(start, 1, 1, tzinfo=UTC)
    end = datetime(start + years, 1, 1, tzinfo=UTC)
    found = []
    before = at.astimezone(info).utcoffset()
    while at < end:
        at += timedelta(minutes=30)
        offset = at.astimezone(info).utcoffset()
        if offset != before:
            found.append(at)
            before = offset
    return found
