"""What is known of a calendar of Google's: its entries, kept between two looks.

Google is asked for series and not for their occurrences (no ``singleEvents``): what a
series comes to is worked out by the same library, within the same bounds, as for any
other feed; and a sync token covers a series without an end, whose occurrences would
have to be asked for anew as time goes on.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

from lambdas.planner.ical import MOST_ENTRIES
from lambdas.planner.occurrence import (
    LONGEST_DESCRIPTION,
    LONGEST_TITLE,
    MOST_NAMES,
    Occurrence,
    Reading,
    Refused,
    text_of,
)
from lambdas.planner.zones import zone_named

_RULE = re.compile(r"(?:RRULE|RDATE|EXDATE)[;:][\x20-\x7e]{1,2000}", re.IGNORECASE)
# "This and all following" makes a second series; its ids tell of which, and since when.
_SPLIT = re.compile(r"_R\d{8}(?:T\d{6}Z?)?(?=@|$)")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\x85\u2028\u2029]+")
_LONGEST_ID = 1024
# A year that no calendar has is an OverflowError.
_UNREADABLE = (TypeError, ValueError, KeyError, AttributeError, OverflowError)

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """The entries of one calendar by their ids, as Google last told each."""

    calendar_id: str
    items: Mapping[str, Item] = field(default_factory=dict)

    def changed(self, items: tuple[Item, ...], *, is_full: bool) -> Self:
        """Return them after a look; what is deleted is gone, exceptions and all.

        A cancelled occurrence of a series is kept: it is what says so.

        Raises:
            Refused: there are too many.
        """
        kept: dict[str, Item] = {} if is_full else dict(self.items)
        deleted = set()
        for item in items:
            name = _text(item.get("id"), _LONGEST_ID)
            if not name:
                continue
            if _is_cancelled(item) and not item.get("recurringEventId"):
                kept.pop(name, None)
                deleted.add(name)
            else:
                kept[name] = _trimmed(item)
        deleted -= kept.keys()
        kept = {n: e for n, e in kept.items() if _series(e) not in deleted}
        if len(kept) > MOST_ENTRIES:
            raise Refused(f"more than {MOST_ENTRIES} entries")
        return replace(self, items=kept)

    def since(self, instant: datetime) -> Self:
        """Return them without what was over before ``instant`` and cannot come back.

        Google tells a changed entry whole, so one that was forgotten may be moved.
        """
        kept = {n: e for n, e in self.items.items() if not _is_over(e, instant)}
        return replace(self, items=kept)

    def to_bytes(self) -> bytes:
        """Return them as bytes; the same entries, the same bytes."""
        told = [self.calendar_id, dict(self.items)]
        return zlib.compress(json.dumps(told, sort_keys=True).encode())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read :meth:`to_bytes` back."""
        calendar_id, items = json.loads(zlib.decompress(data))
        return cls(calendar_id=calendar_id, items=items)

    def rendered(self) -> Rendered:
        """Return them as iCalendar text, and what their occurrences are called."""
        lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//bellhop//google//EN"]
        made = Rendered()
        for name, item in sorted(self.items.items()):
            group = _series(item) or name
            master = self.items.get(group, item)
            if _is_cancelled(item):
                made.cancelled.add((group, _occurrence(item)))
                continue
            try:
                lines += list(_event(item, group, master))
            except _UNREADABLE as error:
                made.notes.append(f"{name:.100}: not read: {type(error).__name__}")
                continue
            uid = _text(master.get("iCalUID"), _LONGEST_ID) or group
            made.uids[group] = _SPLIT.sub("", uid)
        text = "\r\n".join([*lines, "END:VCALENDAR", ""])
        return replace(made, feed=text.encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """Entries as the text of a feed in which each series has Google's id.

    ``uids`` are what those are called to the plan: the same as in the calendar's
    iCal feed, and for both parts of a series that was split.
    """

    feed: bytes = b""
    uids: dict[str, str] = field(default_factory=dict)
    cancelled: set[tuple[str, str]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def told(self, reading: Reading) -> Reading:
        """Return what the text came to, under the names that the plan knows."""
        occurrences = tuple(self._named(reading.occurrences))
        notes = (*self.notes, *reading.notes)
        return replace(reading, occurrences=occurrences, notes=notes)

    def _named(self, occurrences: tuple[Occurrence, ...]) -> Iterator[Occurrence]:
        seen = set()
        for each in occurrences:
            uid = self.uids.get(each.uid, each.uid)
            if (uid, each.name) in seen:
                uid = each.uid
            seen.add((uid, each.name))
            is_cancelled = (each.uid, each.name) in self.cancelled or each.is_cancelled
            yield replace(each, uid=uid, is_cancelled=is_cancelled)


def _trimmed(item: Item) -> Item:
    """Return what is kept of an entry: what a plan can use, within bounds."""
    kept: dict[str, Any] = {
        name: _text(item.get(name), longest)
        for name, longest in (
            ("iCalUID", _LONGEST_ID),
            ("status", 20),
            ("recurringEventId", _LONGEST_ID),
            ("summary", LONGEST_TITLE),
            ("description", LONGEST_DESCRIPTION),
            ("location", LONGEST_TITLE),
        )
        if item.get(name)
    }
    for name in ("start", "end", "originalStartTime"):
        if isinstance(item.get(name), dict):
            kept[name] = {k: _text(v, 100) for k, v in item[name].items()}
    if isinstance(item.get("recurrence"), list):
        kept["recurrence"] = [_text(r, 2_100) for r in item["recurrence"][:50]]
    if isinstance(item.get("attendees"), list):
        given = [a for a in item["attendees"][:MOST_NAMES] if isinstance(a, dict)]
        kept["attendees"] = [_text(a.get("email"), LONGEST_TITLE) for a in given]
    return kept


def _is_cancelled(item: Item) -> bool:
    return item.get("status") == "cancelled"


def _series(item: Item) -> str:
    return str(item.get("recurringEventId") or "")


def _occurrence(item: Item) -> str:
    """Return the name of the occurrence that an exception is of."""
    told = item.get("originalStartTime") or {}
    if told.get("date"):
        return str(told["date"])
    try:
        return text_of(_instant(told, None))
    except _UNREADABLE:
        return ""


def _is_over(item: Item, instant: datetime) -> bool:
    if item.get("recurrence"):
        return False
    ends = [item.get("end") or item.get("start"), item.get("originalStartTime")]
    told = [each for each in ends if each]
    try:
        return bool(told) and all(_instant(each, None) < instant for each in told)
    except _UNREADABLE:
        return False


def _event(item: Item, group: str, master: Item) -> Iterator[str]:
    """Yield the lines of one entry; ``master`` is the series that it belongs to."""
    zone = _zone(master)
    start = _when("DTSTART", item["start"], zone)
    yield "BEGIN:VEVENT"
    yield f"UID:{_escaped(group)}"
    if item is not master or _series(item):
        yield _when("RECURRENCE-ID", item["originalStartTime"], zone)
    yield start
    if item.get("end"):
        yield _when("DTEND", item["end"], zone)
    for rule in item.get("recurrence", ()):
        if _RULE.fullmatch(rule):
            yield rule
    for name, key in (
        ("SUMMARY", "summary"),
        ("DESCRIPTION", "description"),
        ("LOCATION", "location"),
    ):
        if item.get(key):
            yield f"{name}:{_escaped(item[key])}"
    for address in item.get("attendees", ()):
        if address:
            yield f"ATTENDEE:mailto:{_CONTROL.sub('', address)}".replace("\n", "")
    yield "END:VEVENT"


def _zone(master: Item) -> ZoneInfo | None:
    """Return the zone whose clocks a series goes by; None where it is no series."""
    if not master.get("recurrence"):
        return None
    return zone_named((master.get("start") or {}).get("timeZone", ""))


def _when(name: str, told: Mapping[str, str], zone: ZoneInfo | None) -> str:
    if told.get("date"):
        day = datetime.fromisoformat(told["date"])
        return f"{name};VALUE=DATE:{day:%Y%m%d}"
    instant = _instant(told, zone)
    if zone is None or zone.key == "UTC":
        return f"{name}:{instant.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    return f"{name};TZID={zone.key}:{instant.astimezone(zone):%Y%m%dT%H%M%S}"


def _instant(told: Mapping[str, str], zone: ZoneInfo | None) -> datetime:
    """Read Google's time: with an offset, or else by the zone beside it."""
    when = datetime.fromisoformat(told.get("dateTime") or told["date"])
    if when.tzinfo is None:
        named = zone_named(told.get("timeZone", "")) or zone
        when = when.replace(tzinfo=named or UTC)
    return when


def _text(value: Any, longest: int) -> str:
    return value[:longest] if isinstance(value, str) else ""


def _escaped(text: str) -> str:
    """Return text as a value of iCalendar (RFC 5545, 3.3.11)."""
    text = _CONTROL.sub(" ", text.replace("\r\n", "\n"))
    text = text.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
    return text.replace("\n", "\\n")
