"""Reading accepted events back: which agents should have begun them, and have not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from lambdas.shared.bus import Entry, Unpublishable, entry_of, listeners
from lambdas.shared.fleet import Agent
from lambdas.shared.ledger import EVENT_ROW, UNHEARD_ROW
from lambdas.shared.observe import logger
from lambdas.shared.story import RUN
from lambdas.shared.table import Table

# A read waits for the network nearly all of its time; boto3 keeps ten connections.
_READS_AT_ONCE = 8
# So many events are held in memory at once, however full a window is.
_PORTION = 500


class AcceptedEvents(Protocol):
    """What the sweep needs of the ledger."""

    def accepted(self, since: datetime, until: datetime) -> Iterator[str]:
        """Return the ids accepted in since <= received_at < until, in no order."""
        ...

    def unheard(self, event_id: str, expires_at: int) -> None:
        """Record that no agent's pattern matches; twice is the same as once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One accepted event and who has begun it; ``lacking`` should have and has not.

    ``is_unheard``: no agent's pattern matches, and nobody has said so yet.
    """

    entry: Entry
    accepted: datetime
    begun: frozenset[str]
    lacking: frozenset[str]
    is_unheard: bool


class Reader:
    """Reads accepted events, with what the ledger knows of their runs."""

    def __init__(
        self, agents: Collection[Agent], ledger: AcceptedEvents, table: Table
    ) -> None:
        """Judge by the patterns of ``agents``."""
        self._agents = agents
        self._ledger = ledger
        self._table = table

    def read(self, since: datetime, until: datetime) -> Iterator[Seen]:
        """Yield what was accepted in since <= received_at < until, in no order.

        Left out are events that no relay has to carry: ignored ones, AWS's own,
        expired ones, and those that can never be published.
        """
        with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
            for portion in _portions(self._ledger.accepted(since, until)):
                yield from filter(None, pool.map(self._look, portion))

    def _look(self, event_id: str) -> Seen | None:
        row = self._table.get(event_id, EVENT_ROW)
        if row is None or row.get("via") != "door" or row.get("ignored"):
            return None
        try:
            entry = entry_of(row)
        except Unpublishable as error:
            # The relay has parked it, or will: the sweep could do no more.
            logger.warning(
                "event cannot be relayed", event_id=event_id, reason=str(error)
            )
            return None
        runs = {each["sk"] for each in self._table.query(event_id, RUN)}
        hearing = listeners(self._agents, entry)
        begun = {agent.name for agent in hearing if f"{RUN}{agent.key}" in runs}
        lacking = {agent.name for agent in hearing} - begun
        if lacking or not hearing:
            known = self._table.get(event_id, UNHEARD_ROW) is not None
        else:
            known = False
        return Seen(
            entry=entry,
            accepted=datetime.fromisoformat(entry.detail["received_at"]),
            begun=frozenset(begun),
            lacking=frozenset() if known else frozenset(lacking),
            is_unheard=not hearing and not known,
        )


def _portions(ids: Iterable[str]) -> Iterator[list[str]]:
    portion: list[str] = []
    for event_id in ids:
        portion.append(event_id)
        if len(portion) == _PORTION:
            yield portion
            portion = []
    if portion:
        yield portion
