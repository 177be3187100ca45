"""The instants at which a schedule is due.

EventBridge Scheduler's rule for a zone with daylight saving: a local time that does
not exist is skipped, one that comes twice fires once, the first time. Instants are
aware and in UTC, to the minute (a rate: to the second that it began with).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from lambdas.shared.cron.grammar import Cron, parse

if TYPE_CHECKING:
    from lambdas.shared.fleet import Schedule

# How many fires ahead the shortest distance between two is looked for. An expression
# with so many different distances is none that a person writes.
_LOOKED_AT = 400


class NoSuchTimeError(ValueError):
    """The local time does not exist: the clock is put forward over it."""


class Times(Protocol):
    """When something is due."""

    def after(self, instant: datetime) -> Iterator[datetime]:
        """Yield what is due later than ``instant``, rising."""
        ...

    def until(self, instant: datetime) -> Iterator[datetime]:
        """Yield what was due at ``instant`` or before, falling."""
        ...


@dataclass(frozen=True, slots=True)
class CronTimes:
    """A cron expression in a zone."""

    cron: Cron
    zone: tzinfo

    def after(self, instant: datetime) -> Iterator[datetime]:
        """See the protocol."""
        for local in self._rising(_naive(instant.astimezone(self.zone))):
            due = _existing(local, self.zone)
            # In the second pass of a doubled hour the first one lies behind.
            if due is not None and due > instant:
                yield due

    def until(self, instant: datetime) -> Iterator[datetime]:
        """See the protocol."""
        for local in self._falling(_naive(instant.astimezone(self.zone))):
            due = _existing(local, self.zone)
            if due is not None and due <= instant:
                yield due

    # Local times in order are instants in order too: the first pass of a doubled
    # hour lies between what is before and what is after it.

    def _rising(self, start: datetime) -> Iterator[datetime]:
        """Yield the local times that the expression means, from ``start``'s minute."""
        begun = start.replace(second=0, microsecond=0)
        cron = self.cron
        for year in (year for year in cron.years if year >= begun.year):
            for month in cron.months:
                if (year, month) < (begun.year, begun.month):
                    continue
                for day in cron.days.of(year, month):
                    times = self._times(year, month, day)
                    yield from (local for local in times if local >= begun)

    def _falling(self, start: datetime) -> Iterator[datetime]:
        """Yield them the other way, from ``start`` on back."""
        cron = self.cron
        for year in (year for year in reversed(cron.years) if year <= start.year):
            for month in reversed(cron.months):
                if (year, month) > (start.year, start.month):
                    continue
                for day in reversed(cron.days.of(year, month)):
                    times = reversed(self._times(year, month, day))
                    yield from (local for local in times if local <= start)

    def _times(self, year: int, month: int, day: int) -> list[datetime]:
        return [
            datetime(year, month, day, hour, minute)  # noqa: DTZ001 - local to the zone
            for hour in self.cron.hours
            for minute in self.cron.minutes
        ]


@dataclass(frozen=True, slots=True)
class AtTime:
    """Once."""

    instant: datetime

    def after(self, instant: datetime) -> Iterator[datetime]:
        """See the protocol."""
        if self.instant > instant:
            yield self.instant

    def until(self, instant: datetime) -> Iterator[datetime]:
        """See the protocol."""
        if self.instant <= instant:
            yield self.instant


@dataclass(frozen=True, slots=True)
class RateTimes:
    """Every ``period``, before and after one fire of it: ``anchor``.

    A rate of days is 24 hours each: it does not follow the clock on the wall.
    """

    period: timedelta
    anchor: datetime

    def after(self, instant: datetime) -> Iterator[datetime]:
        """See the protocol."""
        due = self._last(instant)
        while True:
            due += self.period
            yield due

    def until(self, instant: datetime) -> Iterator[datetime]:
        """See the protocol; it never ends."""
        due = self._last(instant)
        while True:
            yield due
            due -= self.period

    def _last(self, instant: datetime) -> datetime:
        return self.anchor + self.period * ((instant - self.anchor) // self.period)


def times_of(schedule: Schedule, *, anchor: datetime) -> Times:
    """Return when ``schedule`` is due; ``anchor`` is one fire of a rate.

    Raises:
        NoSuchTimeError: it fires once, at a local time that does not exist.
    """
    return times_from(schedule.expression, schedule.timezone, anchor=anchor)


def times_from(expression: str, timezone: str, *, anchor: datetime) -> Times:
    """As :func:`times_of`, for what Scheduler is told: ``rate(5 minutes)``."""
    kind, _, rest = expression.partition("(")
    text, zone = rest.removesuffix(")"), _zone(timezone)
    if kind == "cron":
        return CronTimes(parse(text), zone)
    if kind == "rate":
        return RateTimes(_period(text), anchor)
    instant = _existing(datetime.fromisoformat(text), zone)
    if instant is None:
        raise NoSuchTimeError(f"{text} does not exist in {timezone}")
    return AtTime(instant)


def period_of(schedule: Schedule, now: datetime) -> timedelta | None:
    """Return the shortest distance of two fires to come; None where there are none."""
    if schedule.rate is not None:
        return _period(schedule.rate)
    coming = times_of(schedule, anchor=now).after(now)
    dues = [due for due, _ in zip(coming, range(_LOOKED_AT), strict=False)]
    return min((later - due for due, later in pairwise(dues)), default=None)


def longest_of(expression: str, timezone: str, now: datetime) -> timedelta:
    """Return the longest distance of two fires to come, of what Scheduler is told.

    Of one that fires once more, or never, it is nothing.
    """
    coming = times_from(expression, timezone, anchor=now).after(now)
    dues = [due for due, _ in zip(coming, range(_LOOKED_AT), strict=False)]
    apart = (later - due for due, later in pairwise(dues))
    return max(apart, default=timedelta(0))


def _period(rate: str) -> timedelta:
    number, _, unit = rate.partition(" ")
    return timedelta(**{f"{unit.removesuffix('s')}s": int(number)})


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    # Imported here: most fleets know one zone, and UTC needs no data.
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def _existing(local: datetime, zone: tzinfo) -> datetime | None:
    """Return the (first) instant of a local time; None where the clock skips it."""
    instant = local.replace(tzinfo=zone).astimezone(UTC)
    return instant if _naive(instant.astimezone(zone)) == local else None


def _naive(local: datetime) -> datetime:
    return local.replace(tzinfo=None, fold=0)
