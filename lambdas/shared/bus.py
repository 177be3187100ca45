"""What travels on the bus: an event's facts, never its payload."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Protocol

from lambdas.shared import patterns
from lambdas.shared.clock import rfc3339
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import Agent, bus_source
from lambdas.shared.table import Row

# PutEvents takes 1 MB, but the event that arrives in a queue is larger than the
# entry by its envelope, and a queue takes 1 MiB: 900 KB leave room for it.
LARGEST_ENTRY_BYTES = 900_000
# PutEvents: a detail-type has at most 128 characters.
LONGEST_KIND = 128


class Unpublishable(BellhopError):
    """This event can never travel on the bus, however often it is tried."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One event as the bus carries it."""

    event_id: str
    source: str
    kind: str
    detail: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """The detail as JSON in ASCII: queues refuse some characters, not escapes."""
        return json.dumps(self.detail, separators=(",", ":"), allow_nan=False)

    @cached_property
    def size_bytes(self) -> int:
        """What the entry counts against the limit of one request."""
        return len(self.source.encode()) + len(self.kind.encode()) + len(self.text)

    @property
    def envelope(self) -> dict[str, Any]:
        """What rules see of it; the fleet's patterns may ask for nothing else."""
        return {
            "source": self.source,
            "detail-type": self.kind,
            "detail": dict(self.detail),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An entry that the bus will never take, and why."""

    event_id: str
    reason: str


class Bus(Protocol):
    """Carries entries to the rules."""

    def publish(self, entries: Sequence[Entry]) -> list[Refusal]:
        """Publish all of ``entries``; return those that never can be.

        Raises:
            Unavailable: some were not taken, and may be later. Others may have
                been: publishing all of them again is safe, the claim of a run
                removes the duplicates.
            Misconfigured: the bus, or our permission to it, is missing.
        """
        ...


def entry_of(row: Row) -> Entry:
    """Return the entry of an event's row.

    Raises:
        Unpublishable: the row does not hold what an entry needs, or too much.
    """
    try:
        detail = {
            "event_id": row["pk"],
            "tenant": row.get("tenant"),
            "received_at": rfc3339(datetime.fromisoformat(row["received_at"])),
            "expires_at": int(row["expires_at"]),
            "facts": _facts(row.get("facts") or "{}"),
            "actor": row.get("actor"),
            "thread": row.get("thread"),
        }
        entry = Entry(
            event_id=row["pk"],
            source=bus_source(row["source"]),
            kind=row["kind"],
            detail=_sendable(detail),
        )
    except KeyError as error:
        raise Unpublishable(f"its row has no {error.args[0]!r}") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise Unpublishable(f"its row is malformed: {error}") from error
    if not 0 < len(entry.kind) <= LONGEST_KIND:
        raise Unpublishable(
            f"its kind has {len(entry.kind)} characters; the bus takes"
            f" 1 to {LONGEST_KIND}"
        )
    if entry.size_bytes > LARGEST_ENTRY_BYTES:
        raise Unpublishable(
            f"it needs {entry.size_bytes} bytes; the bus takes {LARGEST_ENTRY_BYTES}"
        )
    return entry


def _facts(text: str) -> dict[str, Any]:
    facts = json.loads(text, parse_constant=lambda _: None)
    if not isinstance(facts, dict):
        raise TypeError("its facts are no object")
    return facts


def _sendable(value: Any) -> Any:
    """Return ``value`` as every JSON parser takes it: a sender's may hold less."""
    match value:
        case float() if not math.isfinite(value):
            return None
        case str():
            # Half a surrogate pair is no text outside Python and JavaScript.
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {_sendable(key): _sendable(inner) for key, inner in value.items()}
        case list():
            return [_sendable(inner) for inner in value]
        case _:
            return value


def listeners(agents: Iterable[Agent], entry: Entry) -> list[Agent]:
    """Return the agents whose patterns on the fleet's own bus match ``entry``."""
    hears = patterns.judge(entry.envelope)
    return [agent for agent in agents if any(map(hears, agent.own_patterns))]
