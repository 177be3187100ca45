"""The ledger: where events are written down once, and read back.

What happens to an event afterwards (runs, steps, effects) is in rows of its own
beside it; see :mod:`lambdas.shared.story`.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lambdas.shared.clock import milliseconds, rfc3339
from lambdas.shared.errors import GiveUp
from lambdas.shared.event import Content, Event
from lambdas.shared.table import NEW, Absent, Below, Change, Is, Row, Table

if TYPE_CHECKING:
    from lambdas.shared.story import Story

Via = Literal["door", "queue"]

EVENT_ROW = "event"
UNHEARD_ROW = "unheard"
# What the source has said since of the work that an event asked for, as JSON text.
TOLD_ROW = "told"

BY_TIME = "by-time"
# One hour of acceptance is spread over so many index partitions: each takes 1,000
# writes a second, more than the rest of the path is built for.
SHARDS = 4

# Of the compressed body. A row of 32 KB costs 32 write units (about four times an S3
# put, but one call less in front of a sender that waits 1 to 3 seconds), and JSON
# shrinks four to eight times: all but the largest bodies stay inline. Well above it a
# single row would take a notable share of its partition's 1,000 units a second.
INLINE_BODY_BYTES = 32 * 1024


class BodyGone(GiveUp):
    """The body of this event is gone: the row that names its object outlived it."""


class Bodies(Protocol):
    """Keeps bodies that are too large for a row."""

    def put(self, key: str, data: bytes) -> None:
        """Store ``data``; the same key holds the same data, but for a checkpoint's."""
        ...

    def get(self, key: str) -> bytes | None:
        """Return what was stored, or ``None``."""
        ...


class Ledger(Protocol):
    """Remembers every event once, so that a second delivery does nothing.

    All methods raise Unavailable or Misconfigured.
    """

    def accept(self, event: Event, *, via: Via = "door", ignored: bool = False) -> bool:
        """Write the event down; ``False`` if its id already was.

        One conditional write, which is acceptance and deduplication at once.
        ``ignored`` marks what its source's ``ignore_actors`` drops: kept, not
        relayed.
        """
        ...

    def event(self, event_id: str) -> Event | None:
        """Return the event; its body is fetched only when touched.

        Touching it raises BodyGone when the body was kept apart and is lost.
        """
        ...

    def story(self, event_id: str) -> Story | None:
        """Return the event and all that became of it, by one query."""
        ...

    def unheard(self, event_id: str, expires_at: int) -> None:
        """Record that no agent's pattern matches; twice is the same as once."""
        ...

    def accepted(self, since: datetime, until: datetime) -> Iterator[str]:
        """Return the ids accepted in since <= received_at < until, in no order."""
        ...

    def audit(self, entry: Audit) -> None:
        """Append to the record of what operators did; never overwritten."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Who did what when: a replay, a resolve, a rotated secret."""

    id: str
    at: datetime
    who: str
    what: str
    about: str


class TableLedger:
    """The ledger over a :class:`Table` and a store for large bodies."""

    def __init__(self, table: Table, bodies: Bodies, *, ledger_days: int) -> None:
        """Rows of an event expire ``ledger_days`` after it was received."""
        self._table = table
        self._bodies = bodies
        self._lifetime = timedelta(days=ledger_days)

    def accept(self, event: Event, *, via: Via = "door", ignored: bool = False) -> bool:
        """See :class:`Ledger`; a large body is stored before the row that names it."""
        packed = zlib.compress(event.body)
        row = event_row(event, via=via, ignored=ignored)
        row["expires_at"] = self.expires_at(event)
        if len(packed) <= INLINE_BODY_BYTES:
            row["body"] = packed
        else:
            row["body_ref"] = body_key(event)
            self._bodies.put(row["body_ref"], packed)
        return self._table.put(row, when=NEW)

    def event(self, event_id: str) -> Event | None:
        """See :class:`Ledger`."""
        row = self._table.get(event_id, EVENT_ROW)
        return None if row is None else event_from(row, self._bodies.get)

    def story(self, event_id: str) -> Story | None:
        """See :class:`Ledger`."""
        # Imported here: a receiver, whose start a sender waits for, tells no story.
        from lambdas.shared.story import told

        rows = list(self._table.query(event_id))
        own = next((row for row in rows if row["sk"] == EVENT_ROW), None)
        return None if own is None else told(event_from(own, self._bodies.get), rows)

    def expires_at(self, event: Event) -> int:
        """Return when the rows of ``event`` expire, in epoch seconds."""
        return int((event.received_at + self._lifetime).timestamp())

    def unheard(self, event_id: str, expires_at: int) -> None:
        """See :class:`Ledger`."""
        self._table.put({"pk": event_id, "sk": UNHEARD_ROW, "expires_at": expires_at})

    def accepted(self, since: datetime, until: datetime) -> Iterator[str]:
        """See :class:`Ledger`."""
        low, high = rfc3339(since), rfc3339(until)
        hour = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        while hour < until:
            for shard in range(SHARDS):
                partition = time_partition(hour, shard)
                for row in self._table.index(BY_TIME, partition, low, high):
                    yield row["pk"]
            hour += timedelta(hours=1)

    def audit(self, entry: Audit) -> None:
        """See :class:`Ledger`. A day's entries lie under one key, in their order."""
        instant = rfc3339(entry.at)
        row = {
            "pk": f"audit#{instant[:10]}",
            "sk": f"{instant}#{entry.id}",
            "who": entry.who,
            "what": entry.what,
            "about": entry.about,
        }
        self._table.put(row, when=NEW)

    def tell(self, event_id: str, news: Mapping[str, Any]) -> None:
        """Put beside an event what its source says of it now; the last word counts.

        An event that was never accepted hears nothing.
        """
        event = self.event(event_id)
        if event is not None:
            row = {"pk": event_id, "sk": TOLD_ROW, "told": json.dumps(dict(news))}
            self._table.put({**row, "expires_at": self.expires_at(event)})

    def told(self, event_id: str) -> Mapping[str, Any] | None:
        """Return the last :meth:`tell`, or None."""
        row = self._table.get(event_id, TOLD_ROW)
        found: Mapping[str, Any] | None
        found = None if row is None else json.loads(row["told"])
        return found

    def settle(
        self, event_id: str, agent: str, effect: str, *, happened: bool, at: datetime
    ) -> bool:
        """Record what an operator found out about an effect in doubt.

        ``agent`` is the name its runs are kept under. ``False`` when the effect
        is not in doubt; nothing is changed then.
        """
        from lambdas.shared.story import EFFECT, Status

        status = Status.HAPPENED if happened else Status.NOT_HAPPENED
        change = Change(set={"status": status, "finished_at": milliseconds(at)})
        sk = f"{EFFECT}{agent}#{effect}"
        in_doubt = Is("status", Status.STARTED)
        return self._table.update(event_id, sk, change, when=in_doubt).done

    def once_an_hour(self, key: str, instant: datetime, limit: int) -> bool:
        """Count one more under ``key`` in this hour; ``False`` beyond ``limit``.

        A refused count is not counted.
        """
        hour = f"{instant.astimezone(UTC):%Y-%m-%dT%H}"
        expires_at = int((instant + timedelta(days=1)).timestamp())
        change = Change(add={"used": 1}, set={"expires_at": expires_at})
        room = Absent("used") | Below("used", limit)
        return self._table.update(f"count#{key}", hour, change, when=room).done


def event_row(event: Event, *, via: Via, ignored: bool) -> dict[str, Any]:
    """Return the row of an event, all but its body and when it expires.

    Facts and headers are JSON text, so that no number of a sender's is changed
    or refused by the store.
    """
    shard = zlib.crc32(event.id.encode("utf-8", "surrogatepass")) % SHARDS
    row: dict[str, Any] = {
        "pk": event.id,
        "sk": EVENT_ROW,
        "source": event.source,
        "kind": event.kind,
        "tenant": event.tenant,
        "actor": event.actor,
        "thread": event.thread,
        "occurred_at": rfc3339(event.occurred_at),
        "received_at": rfc3339(event.received_at),
        "accepted": time_partition(event.received_at, shard),
        "facts": json.dumps(dict(event.facts), separators=(",", ":")),
        "headers": json.dumps(dict(event.headers), separators=(",", ":")),
        "media_type": event.content.media_type,
        "body_bytes": len(event.body),
        "via": via,
        "ignored": True if ignored else None,
    }
    return {name: value for name, value in row.items() if value is not None}


def event_from(row: Row, fetch: Callable[[str], bytes | None]) -> Event:
    """Return the event of a row; ``fetch`` gets a body that was kept apart."""

    def body() -> bytes:
        packed = row.get("body")
        if packed is None:
            packed = fetch(row["body_ref"])
        if packed is None:
            raise BodyGone("the body of this event is gone", downstream="ledger")
        return zlib.decompress(packed)

    return Event(
        id=row["pk"],
        source=row["source"],
        kind=row["kind"],
        occurred_at=datetime.fromisoformat(row["occurred_at"]),
        received_at=datetime.fromisoformat(row["received_at"]),
        content=Content(body, row.get("media_type", "")),
        tenant=row.get("tenant"),
        actor=row.get("actor"),
        thread=row.get("thread"),
        facts=json.loads(row.get("facts", "{}")),
        headers=json.loads(row.get("headers", "{}")),
    )


def body_key(event: Event) -> str:
    """Return where a large body lies: one place per event id and body.

    A repeated delivery overwrites itself with the same bytes, and another body
    under the same id can never replace the one that was accepted.
    """
    owner = hashlib.sha256(event.id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"events/{owner}/{hashlib.sha256(event.body).hexdigest()}"


def time_partition(instant: datetime, shard: int) -> str:
    """Return the partition of the index by time for an hour and a shard."""
    return f"accepted#{instant.astimezone(UTC):%Y-%m-%dT%H}#{shard}"
