"""iCalendar text to occurrences. The recurrence itself is a well-kept library's.

What is broken in one entry is passed over and noted, so that it costs the others
nothing; a file that is no calendar, or was cut off on the way, is refused whole.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import recurring_ical_events  # type: ignore[import-untyped]
from icalendar import Calendar

from lambdas.planner.occurrence import (
    LONGEST_DESCRIPTION,
    LONGEST_TITLE,
    MOST_NAMES,
    ONCE,
    Occurrence,
    Reading,
    Refused,
    Window,
    text_of,
)
from lambdas.planner.zones import zone_named

# Its own types allow every property to be of every kind.
Component: TypeAlias = Any

# A company's calendar of ten years has 2 MB.
MOST_BYTES = 10_000_000
MOST_ENTRIES = 20_000
MOST_OCCURRENCES = 5_000
_MOST_NOTES = 50
# Texts of one entry's occurrences, all together: anybody may invite us to a meeting.
_MOST_CHARACTERS = 5_000_000
# A UID is part of keys and rows; calendars' own have 30 to 100 characters.
_LONGEST_UID = 1_000
# "For ever", which some exports write as an end; the library cannot count past it.
_ENDLESS = 9_000

# No deadline comes back more often, and counting through such a series from its
# first day takes minutes.
_TOO_OFTEN = ("SECONDLY", "MINUTELY")
_MOST_MINUTES = 4
_LONGEST_HOURLY = timedelta(days=3660)


def expand(
    feed: bytes,
    window: Window,
    zone: tzinfo,
    *,
    bound: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Reading:
    """Return what lies in ``window``; times without a zone are read in ``zone``.

    Each entry is expanded within ``bound``, which may end it by an exception.

    Raises:
        Refused: this is no calendar, or it is too large.
    """
    calendars = _parse(feed)
    notes: list[str] = []
    found: list[Occurrence] = []
    entries = 0
    for calendar in calendars:
        events = calendar.walk("VEVENT")
        entries += len(events)
        if entries > MOST_ENTRIES:
            raise Refused(f"more than {MOST_ENTRIES} entries")
        for uid, group in _by_uid(events).items():
            try:
                with bound():
                    entry = _Entry(uid, group, calendar, zone, notes)
                    found += _sized(list(entry.expand(window)))
            except Exception as error:
                notes.append(f"{uid:.100}: not read: {_sentence(error)}")
            if len(found) > MOST_OCCURRENCES:
                raise Refused(f"more than {MOST_OCCURRENCES} occurrences in the window")
    found.sort(key=lambda each: (each.start, each.uid, each.name))
    if len(notes) > _MOST_NOTES:
        notes[_MOST_NOTES:] = [f"and {len(notes) - _MOST_NOTES} more like these"]
    return Reading(occurrences=tuple(found), entries=entries, notes=tuple(notes))


def _parse(feed: bytes) -> list[Component]:
    if len(feed) > MOST_BYTES:
        raise Refused(f"{len(feed)} bytes, more than {MOST_BYTES}")
    # Some exports begin with a byte order mark or an empty line.
    text = feed.removeprefix(b"\xef\xbb\xbf").strip()
    upper = text[:64].upper()
    if upper.startswith((b"<!DOCTYPE", b"<HTML", b"<?XML", b"<")):
        raise Refused("it is a page (HTML or XML), not a calendar")
    if not upper.startswith(b"BEGIN:"):
        raise Refused("it does not begin with BEGIN:VCALENDAR: not a calendar")
    if not upper.startswith(b"BEGIN:VCALENDAR"):
        raise Refused(f"it begins with {upper[:20].decode('ascii', 'replace')!r}")
    if not text[-64:].upper().rstrip().endswith(b"END:VCALENDAR"):
        raise Refused("it does not end with END:VCALENDAR: cut off on the way")
    try:
        with warnings.catch_warnings():
            # It says that it guesses what /vendor.example/Europe/Berlin means.
            warnings.simplefilter("ignore")
            calendars = Calendar.from_ical(text, multiple=True)
    except MemoryError:
        raise
    except Exception as error:
        raise Refused(f"not readable: {_sentence(error)}") from error
    if not calendars:
        raise Refused("no calendar in it")
    return list(calendars)


def _by_uid(events: list[Component]) -> dict[str, list[Component]]:
    """Group the entries; what changes one occurrence belongs to its series."""
    groups: dict[str, list[Component]] = defaultdict(list)
    for event in events:
        groups[_uid(event)].append(event)
    return groups


def _uid(event: Component) -> str:
    given = str(event.get("UID", "")).strip()
    if len(given) > _LONGEST_UID:
        digest = hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()
        return f"{given[:50]}-{digest}"
    if given:
        return given
    # Without one it is known by what it says.
    said = f"{event.get('SUMMARY', '')}|{_raw(event, 'DTSTART')}"
    return "no-uid-" + hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]


def _sized(found: list[Occurrence]) -> list[Occurrence]:
    size = 0
    for each in found:
        texts = each.title, each.description, *each.categories, *each.attendees
        size += sum(map(len, texts))
    if size > _MOST_CHARACTERS:
        raise ValueError(f"{len(found)} occurrences with {size} characters of text")
    return found


class _Entry:
    """The components of one UID."""

    def __init__(
        self,
        uid: str,
        group: list[Component],
        calendar: Component,
        zone: tzinfo,
        notes: list[str],
    ) -> None:
        self._uid = uid
        self._group = group
        self._calendar = calendar
        self._zone = zone
        self._notes = notes
        self._shifts: dict[datetime, timedelta] = {}

    def expand(self, window: Window) -> Iterator[Occurrence]:
        """Yield the occurrences in the window, each under a name of its own."""
        good = [event for event in self._group if self._mend(event, window)]
        if not good:
            return
        masters = [event for event in good if "RECURRENCE-ID" not in event]
        versions = {str(event.get("SEQUENCE", 0)) for event in masters}
        if len(masters) > 1 and len(versions) == 1:
            self._note(f"{len(masters)} entries share this UID")
        alone = len(masters) > 1 and len(versions) == 1 and len(good) == len(masters)
        recurs = alone or len(good) > len(masters) or any(map(_recurs, masters))
        self._shifts = self._shifts_of(good)
        seen = set()
        for part in [[event] for event in masters] if alone else [good]:
            for event in self._between(part, window):
                occurrence = self._occurrence(event, recurs=recurs)
                if occurrence.name in seen:
                    self._note(f"{occurrence.name} comes twice")
                    continue
                seen.add(occurrence.name)
                yield occurrence

    def _shifts_of(self, events: list[Component]) -> dict[datetime, timedelta]:
        """Return by how much "this and all future ones" were moved, by their first."""
        return {
            self._instant(event["RECURRENCE-ID"].dt): self._instant(event["DTSTART"].dt)
            - self._instant(event["RECURRENCE-ID"].dt)
            for event in events
            if "RECURRENCE-ID" in event
            and event["RECURRENCE-ID"].params.get("RANGE") == "THISANDFUTURE"
        }

    def _between(self, events: list[Component], window: Window) -> list[Component]:
        since = window.since.astimezone(self._zone)
        found: list[Component] = self._query(events).between(
            since, window.until.astimezone(self._zone)
        )
        return found

    def _query(self, events: list[Component]) -> Any:
        alone = Calendar()
        named = self._calendar.get("X-WR-TIMEZONE")
        if named is not None and zone_named(str(named)) is not None:
            alone["X-WR-TIMEZONE"] = named
        for event in events:
            alone.add_component(event)
        return recurring_ical_events.of(alone)

    def _mend(self, event: Component, window: Window) -> bool:
        """Make ``event`` such as the library reads rightly; False: pass it over."""
        if "DTSTART" not in event:
            self._note("no DTSTART")
            return False
        start = event["DTSTART"].dt
        if not isinstance(start, date):
            self._note(f"DTSTART is no time: {str(start)[:40]!r}")
            return False
        _days_are_days(event)
        self._resolve_zones(event)
        self._mend_end(event)
        return self._is_countable(event, window)

    def _resolve_zones(self, event: Component) -> None:
        """Find the zones that the library does not know by these names."""
        for key in ("DTSTART", "DTEND", "RECURRENCE-ID"):
            prop = event.get(key)
            when = getattr(prop, "dt", None)
            if not isinstance(when, datetime) or when.tzinfo is not None:
                continue
            named = prop.params.get("TZID")
            if not named:
                continue
            zone: tzinfo | None = zone_named(str(named))
            if zone is None:
                self._note(f"unknown zone {str(named)[:60]!r}: read as {self._zone}")
                zone = self._zone
            del event[key]
            event.add(key, when.replace(tzinfo=zone))

    def _mend_end(self, event: Component) -> None:
        """An end before the start would make the library swap the two."""
        start = event["DTSTART"].dt
        end = getattr(event.get("DTEND"), "dt", None)
        duration = getattr(event.get("DURATION"), "dt", None)
        is_before = isinstance(duration, timedelta) and duration < timedelta(0)
        if end is not None and end.year > _ENDLESS:
            self._note("never ends: read as a moment")
            del event["DTEND"]
            end = None
        if end is not None:
            try:
                is_before = end < start
            except TypeError:  # a day and an hour, or one of them without a zone
                is_before = self._instant(end) < self._instant(start)
                self._note("start and end are not of one kind")
                del event["DTEND"]
                end = None
        if is_before:
            self._note("ends before it begins: read as a moment")
            event.pop("DTEND", None)
            event.pop("DURATION", None)

    def _is_countable(self, event: Component, window: Window) -> bool:
        rules = event.get("RRULE", [])
        for rule in rules if isinstance(rules, list) else [rules]:
            often = str(next(iter(rule.get("FREQ", [""])))).upper()
            minutes = len(rule.get("BYMINUTE", ())) * max(
                1, len(rule.get("BYHOUR", ()))
            )
            seconds = len(rule.get("BYSECOND", ()))
            if often in _TOO_OFTEN or minutes > _MOST_MINUTES * 24 or seconds > 1:
                self._note(f"recurs more often than a deadline does ({often})")
                return False
            if any(interval < 1 for interval in rule.get("INTERVAL", ())):
                self._note("recurs at an interval of nothing")
                return False
            begun = self._instant(event["DTSTART"].dt)
            if often == "HOURLY" and window.since - begun > _LONGEST_HOURLY:
                self._note("recurs every hour for more than ten years")
                return False
        return True

    def _occurrence(self, event: Component, *, recurs: bool) -> Occurrence:
        start = event["DTSTART"].dt
        is_all_day = not isinstance(start, datetime)
        at_first = getattr(event.get("RECURRENCE-ID"), "dt", start)
        shift = self._shifts.get(self._instant(at_first))
        if shift is not None:
            # All of them carry the first one's: each is called by its own.
            at_first = self._instant(start) - shift
        end = getattr(event.get("DTEND"), "dt", start)
        return Occurrence(
            uid=self._uid,
            name=self._name(at_first) if recurs else ONCE,
            start=self._instant(start),
            end=self._instant(end),
            is_all_day=is_all_day,
            is_cancelled=str(event.get("STATUS", "")).upper() == "CANCELLED",
            title=_text(event, "SUMMARY", LONGEST_TITLE),
            description=_text(event, "DESCRIPTION", LONGEST_DESCRIPTION),
            location=_text(event, "LOCATION", LONGEST_TITLE),
            categories=tuple(_categories(event))[:MOST_NAMES],
            attendees=tuple(_attendees(event))[:MOST_NAMES],
        )

    def _name(self, at_first: date) -> str:
        # A day keeps its date, wherever in the world it is read.
        if not isinstance(at_first, datetime):
            return at_first.isoformat()
        return text_of(self._instant(at_first))

    def _instant(self, when: date) -> datetime:
        if not isinstance(when, datetime):
            when = datetime(when.year, when.month, when.day)  # noqa: DTZ001 - below
        if when.tzinfo is None:
            when = when.replace(tzinfo=self._zone)
        return when.astimezone(UTC)

    def _note(self, what: str) -> None:
        self._notes.append(f"{self._uid:.100}: {what}")


def _days_are_days(event: Component) -> None:
    """A day with a zone beside it is a day (RFC 5545, 3.2.19), not its midnight."""
    for key in ("DTSTART", "DTEND", "RECURRENCE-ID", "RDATE", "EXDATE"):
        given = event.get(key, [])
        for prop in given if isinstance(given, list) else [given]:
            if str(prop.params.get("VALUE", "")).upper() != "DATE":
                continue
            for each in getattr(prop, "dts", [prop]):
                if isinstance(each.dt, datetime):
                    each.dt = each.dt.date()
            prop.params.pop("TZID", None)


def _recurs(event: Component) -> bool:
    return "RRULE" in event or "RDATE" in event


def _text(event: Component, key: str, longest: int) -> str:
    value = event.get(key, "")
    if isinstance(value, list):  # the property came twice
        value = value[0] if value else ""
    return str(value)[:longest]


def _categories(event: Component) -> Iterator[str]:
    given = event.get("CATEGORIES", [])
    for each in given if isinstance(given, list) else [given]:
        yield from (str(name)[:LONGEST_TITLE] for name in getattr(each, "cats", [each]))


def _attendees(event: Component) -> Iterator[str]:
    given = event.get("ATTENDEE", [])
    for each in given if isinstance(given, list) else [given]:
        address = str(each)[:LONGEST_TITLE]
        yield address[7:] if address.lower().startswith("mailto:") else address


def _raw(event: Component, key: str) -> str:
    return str(getattr(event.get(key), "dt", ""))


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}"


def utc_or(name: str) -> tzinfo:
    """Return the zone of that IANA name; fleet.toml was checked."""
    return UTC if name == "UTC" else ZoneInfo(name)
