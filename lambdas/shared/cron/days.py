"""Which days of a month a cron expression means."""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from typing import Protocol

# EventBridge counts SUN = 1 to SAT = 7, Python's calendar MON = 0 to SUN = 6.


class Days(Protocol):
    """A rule that picks days of a month."""

    def of(self, year: int, month: int) -> list[int]:
        """Return the days, in order; possibly none."""
        ...


@dataclass(frozen=True, slots=True)
class OnDays:
    """Days by their number; a month without such a day has none."""

    numbers: tuple[int, ...]

    def of(self, year: int, month: int) -> list[int]:
        """See the protocol."""
        last = _last_day(year, month)
        return [number for number in self.numbers if number <= last]


@dataclass(frozen=True, slots=True)
class OnLastDay:
    """``L``: the last day of the month."""

    def of(self, year: int, month: int) -> list[int]:
        """See the protocol."""
        return [_last_day(year, month)]


@dataclass(frozen=True, slots=True)
class NearestWeekday:
    """``15W``: Monday to Friday nearest to the day, never in another month.

    ``None`` is ``LW``: the last weekday of the month.
    """

    number: int | None

    def of(self, year: int, month: int) -> list[int]:
        """See the protocol."""
        last = _last_day(year, month)
        day = last if self.number is None else self.number
        if day > last:
            return []
        match calendar.weekday(year, month, day):
            case 5 if day == 1:
                day += 2
            case 5:
                day -= 1
            case 6 if day == last:
                day -= 2
            case 6:
                day += 1
            case _:
                pass
        return [day]


@dataclass(frozen=True, slots=True)
class OnWeekdays:
    """Days of the week, SUN = 1 to SAT = 7, in every week."""

    numbers: tuple[int, ...]

    def of(self, year: int, month: int) -> list[int]:
        """See the protocol."""
        first = _numbered(calendar.weekday(year, month, 1))
        days = range(1, _last_day(year, month) + 1)
        return [d for d in days if (first + d - 2) % 7 + 1 in self.numbers]


@dataclass(frozen=True, slots=True)
class NthWeekday:
    """``3#2``: the second Tuesday; ``None`` is ``3L``: the last one."""

    number: int
    nth: int | None

    def of(self, year: int, month: int) -> list[int]:
        """See the protocol."""
        days = OnWeekdays((self.number,)).of(year, month)
        if self.nth is None:
            return days[-1:]
        return days[self.nth - 1 : self.nth]


def _last_day(year: int, month: int) -> int:
    return calendar.monthrange(year, month)[1]


def _numbered(weekday: int) -> int:
    return (weekday + 1) % 7 + 1
