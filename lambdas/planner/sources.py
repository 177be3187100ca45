"""The kinds of feeds: how each is read."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from lambdas.planner import feed
from lambdas.planner.google.api import Api, Whose
from lambdas.planner.google.entries import Entries
from lambdas.planner.occurrence import Reading, Window
from lambdas.planner.record import Record
from lambdas.shared.fleet import Calendar
from lambdas.shared.google import read_key
from lambdas.shared.ledger import Bodies
from lambdas.shared.outside import Exchange

#: The prefix of the payload bucket under which feeds are kept.
KEPT = "calendars"
# No window reaches farther back; what was over before is not asked for, nor kept.
_FARTHEST_BACK = timedelta(days=31)


@dataclass(frozen=True, slots=True, kw_only=True)
class IcalFeed:
    """An iCal feed behind an address that the calendar's secret holds."""

    address_of: Callable[[str], str]
    exchange: Exchange
    bodies: Bodies
    expand: Callable[[bytes, Window, str], Reading]

    def __call__(
        self, calendar: Calendar, window: Window, record: Record
    ) -> tuple[Reading, Record]:
        """See :class:`lambdas.planner.planner.Feed`."""
        body, record = self._body(calendar, record)
        reading = self.expand(body, window, calendar.timezone)
        return reading, self._keep(calendar, record, body)

    def _body(self, calendar: Calendar, record: Record) -> tuple[bytes, Record]:
        address = self.address_of(calendar.secret_name)
        kept = self.bodies.get(record.kept) if record.kept else None
        got = feed.get(
            self.exchange,
            address,
            etag=record.etag if kept is not None else "",
            modified=record.modified if kept is not None else "",
        )
        if got.body is None and kept is not None:
            return zlib.decompress(kept), record
        if got.body is None:
            got = feed.get(self.exchange, address)
        return got.body or b"", replace(record, etag=got.etag, modified=got.modified)

    def _keep(self, calendar: Calendar, record: Record, body: bytes) -> Record:
        """Keep what was read well, under its hash: for when it has not changed."""
        if not (record.etag or record.modified):
            return replace(record, kept="")
        key = _key(calendar, body)
        if key != record.kept:
            self.bodies.put(key, zlib.compress(body))
        return replace(record, kept=key)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleFeed:
    """A calendar of Google's, read with the key that the calendar's secret holds.

    Its entries are kept between two looks, with the token that says since when Google
    shall tell what is new: both lie in one record, so they are of one moment.
    """

    key_of: Callable[[str], str]
    api: Api
    bodies: Bodies
    expand: Callable[[bytes, Window, str], Reading]

    def __call__(
        self, calendar: Calendar, window: Window, record: Record
    ) -> tuple[Reading, Record]:
        """See :class:`lambdas.planner.planner.Feed`."""
        whose = Whose(
            calendar_id=calendar.calendar_id,
            key=read_key(calendar.secret_name, self.key_of(calendar.secret_name)),
            act_as=calendar.act_as,
        )
        known = self._known(calendar, record)
        oldest = window.since - _FARTHEST_BACK
        token = record.token if known is not None else ""
        news = self.api.changes(whose, token=token, since=oldest)
        entries = known or Entries(calendar_id=calendar.calendar_id)
        entries = entries.changed(news.items, is_full=news.is_full).since(oldest)
        made = entries.rendered()
        reading = made.told(self.expand(made.feed, window, calendar.timezone))
        key = self._keep(calendar, record, entries)
        return reading, replace(record, kept=key, token=news.token)

    def _known(self, calendar: Calendar, record: Record) -> Entries | None:
        """Return what was kept, if it is of this calendar still."""
        kept = self.bodies.get(record.kept) if record.kept and record.token else None
        if kept is None:
            return None
        entries = Entries.from_bytes(kept)
        return entries if entries.calendar_id == calendar.calendar_id else None

    def _keep(self, calendar: Calendar, record: Record, entries: Entries) -> str:
        data = entries.to_bytes()
        key = _key(calendar, data)
        if key != record.kept:
            self.bodies.put(key, data)
        return key


def _key(calendar: Calendar, data: bytes) -> str:
    return f"{KEPT}/{calendar.name}/{hashlib.sha256(data).hexdigest()}"
