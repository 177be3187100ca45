"""Which entries are deadlines, and when the work on them begins."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from fnmatch import translate

from lambdas.planner.occurrence import Occurrence
from lambdas.planner.timed import within
from lambdas.shared.errors import Misconfigured
from lambdas.shared.fleet import Calendar, CalendarRule
from lambdas.shared.holidays import holidays_of

# Of a stranger's text: what an expression is tried on must not be endless.
_MOST_MATCHED = 2_000
# A repetition inside a repetition tries every way to share out a stranger's text.
LONGEST_SECONDS = 10.0
_SATURDAY = 5
# No country rests for longer in one go.
_LONGEST_REST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A rule that an occurrence fits, and when its work begins."""

    occurrence: Occurrence
    rule: CalendarRule
    begin_at: datetime


class Rules:
    """The rules of one calendar."""

    def __init__(self, calendar: Calendar, zone: tzinfo) -> None:
        """Business days are counted by the clocks of ``zone``.

        Raises:
            Misconfigured: nobody knows the holidays of the calendar's country.
        """
        self._rules = calendar.rules
        self._zone = zone
        self._is_holiday = holidays_of(calendar.holidays)

    def each(
        self, occurrences: Iterable[Occurrence]
    ) -> list[tuple[Occurrence, list[Wanted]]]:
        """Return every occurrence with what it asks for.

        Raises:
            Misconfigured: all of that takes longer than :data:`LONGEST_SECONDS`.
        """
        try:
            with within(LONGEST_SECONDS):
                return [(each, list(self.wanted(each))) for each in occurrences]
        except TimeoutError:
            raise Misconfigured(
                f"its rules take longer than {LONGEST_SECONDS:g} s on its entries:"
                " write each /expression/ without a repetition inside a repetition"
            ) from None

    def wanted(self, occurrence: Occurrence) -> Iterator[Wanted]:
        """Yield what an occurrence asks for: each category once, by its first rule."""
        seen = set()
        for rule in self._rules:
            if rule.category in seen or not fits(rule, occurrence):
                continue
            seen.add(rule.category)
            begin_at = self.begin_at(occurrence.start, rule)
            yield Wanted(occurrence=occurrence, rule=rule, begin_at=begin_at)

    def begin_at(self, deadline: datetime, rule: CalendarRule) -> datetime:
        """Return when the work for ``deadline`` begins.

        A buffer is so many hours. With ``business_days`` its whole days are business
        days by the calendar's own clocks, at the deadline's time of day.
        """
        if not rule.business_days:
            return deadline - timedelta(hours=rule.buffer_hours)
        days, hours = divmod(rule.buffer_hours, 24)
        local = deadline.astimezone(self._zone)
        while days > 0:
            local = self._day_before(local)
            days -= 1
        return local.astimezone(UTC) - timedelta(hours=hours)

    def _day_before(self, local: datetime) -> datetime:
        for back in range(1, _LONGEST_REST):
            # By the clock on the wall: across a switch a day has 23 or 25 hours.
            day = local - timedelta(days=back)
            if day.weekday() < _SATURDAY and not self._is_holiday(day.date()):
                return day
        return local - timedelta(days=1)


def fits(rule: CalendarRule, occurrence: Occurrence) -> bool:
    """Tell whether all that ``rule`` asks for is true of the occurrence."""
    return (
        _fits(rule.title, [occurrence.title])
        and _fits(rule.description, [occurrence.description])
        and _fits(rule.tagged, occurrence.categories)
        and _fits(rule.attendee, occurrence.attendees)
    )


def _fits(pattern: str | None, texts: list[str] | tuple[str, ...]) -> bool:
    if pattern is None:
        return True
    found = _compiled(pattern)
    return any(found(" ".join(text[:_MOST_MATCHED].split())) for text in texts)


@functools.cache
def _compiled(pattern: str) -> Callable[[str], object]:
    if len(pattern) > 1 and pattern[0] == pattern[-1] == "/":
        return re.compile(pattern[1:-1], re.IGNORECASE).search
    return re.compile(translate(pattern), re.IGNORECASE).match
