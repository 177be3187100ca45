"""The kinds of feeds: how each is read."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from lambdas.planner import feed
from lambdas.planner.occurrence import Reading, Window
from lambdas.planner.record import Record
from lambdas.shared.fleet import Calendar
from lambdas.shared.ledger import Bodies

#: The prefix of the payload bucket under which feeds are kept.
KEPT = "calendars"


@dataclass(frozen=True, slots=True, kw_only=True)
class IcalFeed:
    """An iCal feed behind an address that the calendar's secret holds."""

    address_of: Callable[[str], str]
    exchange: feed.Exchange
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
        digest = hashlib.sha256(body).hexdigest()
        key = f"{KEPT}/{calendar.name}/{digest}"
        if key != record.kept:
            self.bodies.put(key, zlib.compress(body))
        return replace(record, kept=key)
