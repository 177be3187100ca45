"""EventBridge's cron grammar: six fields, read once, with plain refusals.

    minutes hours day-of-month month day-of-week year

``, - * /`` in every field; ``?`` in exactly one of the two day fields; ``L``,
``LW`` and ``15W`` in day-of-month; ``L``, ``5L`` and ``3#2`` in day-of-week.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from lambdas.shared.cron.days import (
    Days,
    NearestWeekday,
    NthWeekday,
    OnDays,
    OnLastDay,
    OnWeekdays,
)

FIRST_YEAR, LAST_YEAR = 1970, 2199

_MONTHS = [
    "JAN",
    "FEB",
    "MAR",
    "APR",
    "MAY",
    "JUN",
    "JUL",
    "AUG",
    "SEP",
    "OCT",
    "NOV",
    "DEC",
]
_WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
_SATURDAY = 7

_PART = re.compile(r"(\*|\w+)(?:-(\w+))?(?:/(\w+))?")


class CronError(ValueError):
    """The expression is not EventBridge's; the message says what was wanted."""


# EventBridge's limit is 256, "cron()" included.
_LONGEST = 250


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def number(self, text: str) -> int:
        if text.upper() in self.names:
            return self.low + self.names.index(text.upper())
        if text.isascii() and text.isdigit() and self.low <= int(text) <= self.high:
            return int(text)
        wanted = f"{self.low} to {self.high}"
        if self.names:
            wanted += f" or {self.names[0]} to {self.names[-1]}"
        raise CronError(f"{self.name}: want {wanted}, got {text!r}")

    def numbers(self, text: str) -> tuple[int, ...]:
        found: set[int] = set()
        for part in text.split(","):
            found.update(self._range(part))
        return tuple(sorted(found))

    def _range(self, text: str) -> range:
        match = _PART.fullmatch(text)
        if match is None:
            raise CronError(f"{self.name}: want numbers with , - * /, got {text!r}")
        start, end, step = match.groups()
        if start == "*":
            if end is not None:
                raise CronError(f"{self.name}: want * or a range, got {text!r}")
            first, last = self.low, self.high
        else:
            first = self.number(start)
            # `5/10` goes on to the end of the field, `5` alone does not.
            last = self.high if step else first
            last = self.number(end) if end else last
        if first > last:
            raise CronError(
                f"{self.name}: want a range that rises, got {text!r}; write it as two,"
                f" such as {start}-{self.high},{self.low}-{end}"
            )
        if step is None:
            return range(first, last + 1)
        if not (step.isascii() and step.isdigit()) or not 1 <= int(step) <= self.high:
            raise CronError(f"{self.name}: want a step of 1 or more, got {text!r}")
        return range(first, last + 1, int(step))


_MINUTES = _Field("minutes", 0, 59)
_HOURS = _Field("hours", 0, 23)
_DAY = _Field("day-of-month", 1, 31)
_MONTH = _Field("month", 1, 12, tuple(_MONTHS))
_WEEKDAY = _Field("day-of-week", 1, 7, tuple(_WEEKDAYS))
_YEAR = _Field("year", FIRST_YEAR, LAST_YEAR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """An expression, read: local times, each of them rising."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: Days
    months: tuple[int, ...]
    years: tuple[int, ...]

    @property
    def is_possible(self) -> bool:
        """Whether any of its years has such a day at all."""
        return any(self.days.of(y, m) for y in self.years for m in self.months)


@functools.cache
def parse(text: str) -> Cron:
    """Read the six fields, without the ``cron(...)`` around them.

    Raises:
        CronError: what was wanted, and what was given.
    """
    if len(text) > _LONGEST:
        raise CronError(f"want at most {_LONGEST} characters, got {len(text)}")
    fields = text.split()
    if len(fields) != 6:
        raise CronError(f"want six fields like '0 6 ? * MON-FRI *', got {text!r}")
    minutes, hours, day, month, weekday, year = fields
    return Cron(
        minutes=_MINUTES.numbers(minutes),
        hours=_HOURS.numbers(hours),
        days=_days(day, weekday),
        months=_MONTH.numbers(month),
        years=_YEAR.numbers(year),
    )


def _days(day: str, weekday: str) -> Days:
    if (day == "?") == (weekday == "?"):
        got = f"{day!r} and {weekday!r}"
        raise CronError(
            "want ? in exactly one of the fields day-of-month and day-of-week"
            f" (EventBridge takes no expression with both), got {got}"
        )
    return _on_weekdays(weekday.upper()) if day == "?" else _on_days(day.upper())


def _on_days(text: str) -> Days:
    if text == "L":
        return OnLastDay()
    if text in {"LW", "WL"}:
        return NearestWeekday(None)
    if text.endswith("W"):
        return NearestWeekday(_DAY.number(text[:-1]))
    return OnDays(_DAY.numbers(text))


def _on_weekdays(text: str) -> Days:
    if text == "L":
        return OnWeekdays((_SATURDAY,))
    if text.endswith("L"):
        return NthWeekday(_WEEKDAY.number(text[:-1]), None)
    day, hash_, nth = text.partition("#")
    if not hash_:
        return OnWeekdays(_WEEKDAY.numbers(text))
    if nth not in {"1", "2", "3", "4", "5"}:
        raise CronError(f"day-of-week: want 1 to 5 after #, got {text!r}")
    return NthWeekday(_WEEKDAY.number(day), int(nth))
