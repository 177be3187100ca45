"""Looks at a feed and accepts what is new. Safe to repeat, and to be stopped anywhere.

The order is what makes it so: items are accepted first, each once under its own id;
then the cursor moves. Whoever is stopped in between accepts some a second time, which
the ledger refuses.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lambdas.poller import reading, site
from lambdas.poller.choice import Chosen, choose
from lambdas.poller.cursor import Cursor, Position
from lambdas.poller.item import Reading, Refused
from lambdas.shared.clock import Clock, rfc3339
from lambdas.shared.errors import BellhopError, Misconfigured, Unavailable
from lambdas.shared.event import Event
from lambdas.shared.fleet import Feed, Fleet
from lambdas.shared.ledger import BodyGone, TableLedger
from lambdas.shared.observe import count, logger
from lambdas.shared.outside import Exchange
from lambdas.shared.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is in a feed now: ``chosen`` is None where it has not changed."""

    got: site.Got
    read: Reading
    chosen: Chosen | None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Poller:
    """Looks at the feeds of a fleet; ``secret_of`` returns a secret by its name."""

    fleet: Fleet
    ledger: TableLedger
    table: Table
    exchange: Exchange
    secret_of: Callable[[str], str]
    clock: Clock

    def poll(self, name: str, *, again: bool = False) -> dict[str, Any]:
        """Look at the feed ``name``; say what came of it.

        Two at once: one looks, the other does nothing. A feed that is gone is not
        asked any more, unless somebody wants it ``again``.

        Raises:
            Misconfigured: there is no such feed in the fleet.
            Unavailable: the ledger failed; the next look makes it good.
        """
        feed = self._feed(name)
        cursor, token = Cursor(self.table, name), uuid.uuid4().hex
        position = cursor.take(token, self.clock())
        if position is None:
            return {"source": name, "state": "busy: another run is looking"}
        try:
            said, position = self._poll(feed, position, again=again)
            if position is not None:
                cursor.move(token, position)
        finally:
            # What went wrong before counts, not this: the lease ends by itself.
            with suppress(BellhopError):
                cursor.let_go(token)
        return {"source": name, **said}

    def preview(self, name: str) -> Look:
        """Return what a run would accept now; nothing is written.

        The feed is fetched, whatever it asks for. Edits of what a stopped run has
        accepted are not in it: only the ledger tells them.

        Raises:
            Refused, Misconfigured, Unavailable: it would not be obeyed.
        """
        feed, now = self._feed(name), self.clock()
        # Without its etag: unchanged, there would be nothing to show.
        asked = self._asked(feed, self._address(feed), Position())
        got = site.get(self.exchange, asked, now)
        return look_at(feed, Cursor(self.table, name).read(), got, now)

    def _feed(self, name: str) -> Feed:
        if name not in self.fleet.feeds:
            there = ", ".join(self.fleet.feeds) or "none"
            raise Misconfigured(f"no feed {name!r} in fleet.toml; there are: {there}")
        return self.fleet.feeds[name]

    def _poll(
        self, feed: Feed, position: Position, *, again: bool
    ) -> tuple[dict[str, Any], Position | None]:
        now = self.clock()
        try:
            address = self._address(feed)
            position = position.at(address)
            if position.is_gone and not again:
                raise site.Gone(position.why)
            if position.is_resting(now):
                return self._not_yet(feed, position), None
            asked = self._asked(feed, address, position)
            got = site.get(self.exchange, asked, now)
            look = look_at(feed, position, got, now)
        except (Refused, Misconfigured, Unavailable) as error:
            # The feed is somebody else's affair: the others are looked at.
            return self._refused(feed, position, error, now)
        return self._take(feed, position, look, now)

    def _address(self, feed: Feed) -> str:
        return feed.url or self.secret_of(feed.secret_name)

    def _asked(self, feed: Feed, address: str, position: Position) -> site.Asked:
        own: dict[str, str] = {}
        if feed.authorization is not None:
            name, value = proof(feed.authorization, self.secret_of(feed.secret_name))
            own = {name: value}
        return site.Asked(
            address=address,
            format=feed.format,
            own=own,
            etag=position.etag,
            modified=position.modified,
        )

    def _take(
        self, feed: Feed, position: Position, look: Look, now: datetime
    ) -> tuple[dict[str, Any], Position]:
        count("FeedRead", Source=feed.name)
        if look.got.moved and look.got.moved != position.moved:
            logger.warning("feed moved", source=feed.name, host=look.got.moved)
        if look.chosen is None:
            moved_on = position.unchanged(look.got, now)
            return {"state": "unchanged", "accepted": 0, **_told(moved_on)}, moved_on
        made = [(event, self._accept(event)) for event in look.events]
        made += self._missed(feed, look.chosen, made, now)
        accepted = sum(new for _, new in made)
        if look.read.notes:
            logger.warning(
                "items not read", source=feed.name, notes=list(look.read.notes)
            )
        moved_on = position.taken(
            look.got,
            now,
            max(look.got.wait, look.read.wait),
            marks=look.chosen.marks,
            rest=look.chosen.rest,
        )
        said: dict[str, Any] = {
            "state": "read",
            "items": len(look.read.items),
            "accepted": accepted,
            "duplicates": len(made) - accepted,
            "passed": look.chosen.passed,
            "rest": look.chosen.rest,
            "notes": list(look.read.notes),
        }
        logger.info("feed read", source=feed.name, **said)
        return {**said, **_told(moved_on)}, moved_on

    def _missed(
        self,
        feed: Feed,
        chosen: Chosen,
        made: Sequence[tuple[Event, bool]],
        now: datetime,
    ) -> list[tuple[Event, bool]]:
        """Accept the edits of items that a run accepted and did not live to remember.

        They are new to the cursor and not to the ledger, which has them as they were.
        """
        if feed.edits != "accept":
            return []
        known = [
            item
            for item, (event, is_new) in zip(chosen.new, made, strict=False)
            if not is_new and self._is_other(event)
        ]
        edited = [reading.event_of(feed, item, now, edited=True) for item in known]
        return [(event, self._accept(event)) for event in edited]

    def _is_other(self, event: Event) -> bool:
        held = self.ledger.event(event.id)
        try:
            return held is not None and held.body != event.body
        except BodyGone:
            return True

    def _accept(self, event: Event) -> bool:
        new = self.ledger.accept(event)
        count("EventsAccepted" if new else "EventsDuplicate", Source=event.source)
        logger.info(
            "event accepted",
            event_id=event.id,
            source=event.source,
            kind=event.kind,
            deduplicated=not new,
        )
        return new

    def _not_yet(self, feed: Feed, position: Position) -> dict[str, Any]:
        if not position.why:
            # As it wants to be looked at, it was: the alarm is for silence.
            count("FeedRead", Source=feed.name)
        return {"state": "not yet: it asks to be left alone", **_told(position)}

    def _refused(
        self, feed: Feed, position: Position, error: BellhopError, now: datetime
    ) -> tuple[dict[str, Any], Position]:
        count("FeedRefused", Source=feed.name)
        logger.warning("feed not obeyed", source=feed.name, why=str(error))
        wait = error.wait if isinstance(error, site.NotNow) else timedelta(0)
        gone = isinstance(error, site.Gone)
        position = position.refused(str(error), now, wait, gone=gone)
        return {"state": f"not obeyed: {error}", **_told(position)}, position


def look_at(feed: Feed, position: Position, got: site.Got, now: datetime) -> Look:
    """Return what a run at ``position`` makes of what lies at the feed's address.

    Raises:
        Refused: it is not to be obeyed.
    """
    if got.body is None:
        return Look(got=got, read=Reading(items=()), chosen=None)
    read = reading.read(feed, got.body, got.content_type)
    chosen = choose(feed, read.items, position.marks)
    events = [reading.event_of(feed, i, now, edited=False) for i in chosen.new]
    events += [reading.event_of(feed, i, now, edited=True) for i in chosen.edited]
    return Look(got=got, read=read, chosen=chosen, events=tuple(events))


def _told(position: Position) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if position.next_at is not None:
        told["not_before"] = rfc3339(position.next_at)
    if position.moved:
        told["moved_to"] = position.moved
    return told


def proof(authorization: str, secret: str) -> tuple[str, str]:
    """Return the header that shows ``secret``: its name in lower case, its value.

    Raises:
        Misconfigured: it is nothing that a header can hold.
    """
    if not secret.isascii() or not secret.isprintable():
        raise Misconfigured("the feed's secret: want printable ASCII, one line")
    if authorization == "basic":
        return "authorization", f"Basic {base64.b64encode(secret.encode()).decode()}"
    if authorization == "bearer":
        return "authorization", f"Bearer {secret}"
    return authorization.partition(":")[2].lower(), secret
