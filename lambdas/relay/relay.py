"""From the ledger's stream to the bus: what was accepted is told, once or more.

The stream hands over inserted rows in batches and repeats a whole batch whose
invocation failed. So a passing failure raises, and everything here may happen
twice: a second publication is removed by the claim of the run, the other
writes overwrite themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Protocol

from lambdas.shared.bus import Bus, Entry, Unpublishable, entry_of, listeners
from lambdas.shared.clock import Clock
from lambdas.shared.fleet import Agent
from lambdas.shared.ledger import EVENT_ROW
from lambdas.shared.observe import Unit, count, logger, measure
from lambdas.shared.table import Row

# Rows of events that nobody hears are written one by one, but not one after another.
_WRITES_AT_ONCE = 8


class Unheard(Protocol):
    """What the relay needs of the ledger."""

    def unheard(self, event_id: str, expires_at: int) -> None:
        """Record that no agent's pattern matches; twice is the same as once."""
        ...


class Parked(Protocol):
    """Keeps what can never be published, for a person to look at."""

    def park(self, event_id: str, reason: str) -> None:
        """Keep it; the same event may be parked twice."""
        ...


class Relay:
    """Publishes accepted events and says which ones no agent hears."""

    def __init__(
        self,
        agents: Collection[Agent],
        *,
        bus: Bus,
        ledger: Unheard,
        parked: Parked,
        clock: Clock,
    ) -> None:
        """Judge events by the patterns of ``agents``."""
        self._agents = agents
        self._bus = bus
        self._ledger = ledger
        self._parked = parked
        self._clock = clock

    def carry(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Publish the new events among the stream's ``records``.

        Raises:
            Unavailable, Misconfigured: not all was done; the batch must come again.
        """
        rows = [row for record in records if (row := _new_event(record)) is not None]
        entries = []
        for row in rows:
            try:
                entries.append(entry_of(row))
            except Unpublishable as error:
                self._park(row["pk"], str(error))
        refusals = self._bus.publish(entries) if entries else []
        for refusal in refusals:
            self._park(refusal.event_id, refusal.reason)
        refused = {refusal.event_id for refusal in refusals}
        published = [entry for entry in entries if entry.event_id not in refused]
        self._tell_unheard(published)
        self._tell_age(entries)
        if rows:
            logger.info(
                "events relayed",
                events=len(published),
                of=len(rows),
                event_ids=[entry.event_id for entry in published],
            )

    def _park(self, event_id: str, reason: str) -> None:
        self._parked.park(event_id, reason)
        logger.error("event parked", event_id=event_id, reason=reason)

    def _tell_unheard(self, entries: Sequence[Entry]) -> None:
        unheard = [each for each in entries if not listeners(self._agents, each)]
        if not unheard:
            return
        with ThreadPoolExecutor(_WRITES_AT_ONCE) as pool:
            list(pool.map(self._write_unheard, unheard))
        count("EventsUnheard", len(unheard))

    def _write_unheard(self, entry: Entry) -> None:
        self._ledger.unheard(entry.event_id, entry.detail["expires_at"])
        logger.info("event unheard", event_id=entry.event_id)

    def _tell_age(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        oldest = min(entry.detail["received_at"] for entry in entries)
        age = self._clock() - datetime.fromisoformat(oldest)
        # Two machines' clocks may differ by moments: an age is never negative.
        measure("RelayAgeSeconds", max(0.0, age.total_seconds()), Unit.SECONDS)


def _new_event(record: Mapping[str, Any]) -> Row | None:
    """Return the event's row of a stream record that is to be relayed.

    The mapping filters already; it is not the only way to call this function.
    """
    image = record.get("dynamodb", {}).get("NewImage")
    if record.get("eventName") != "INSERT" or not image:
        return None
    row = {name: _plain(value) for name, value in image.items() if name != "body"}
    is_ours = row.get("sk") == EVENT_ROW and row.get("via") == "door"
    return row if is_ours and not row.get("ignored") else None


def _plain(value: Mapping[str, Any]) -> Any:
    """Return a value of the stream as the ledger holds it: it has no fractions."""
    ((kind, inner),) = value.items()
    return int(inner) if kind == "N" else inner
