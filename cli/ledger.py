"""What the verbs read from the ledger: the newest events, and one event whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cli.output import CliError
from cli.target import Target
from lambdas.shared import bus
from lambdas.shared.clock import rfc3339
from lambdas.shared.ledger import BY_TIME, EVENT_ROW, SHARDS, event_from, time_partition
from lambdas.shared.story import Story, told
from lambdas.shared.table import Row


def newest(target: Target, since: datetime, until: datetime) -> Iterator[str]:
    """Yield the ids accepted in since <= time < until, the newest first."""
    hour = until.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    while hour > since - timedelta(hours=1):
        rows: list[Row] = []
        for shard in range(SHARDS):
            partition = time_partition(hour, shard)
            rows += target.table.index(
                BY_TIME, partition, rfc3339(since), rfc3339(until)
            )
        for row in sorted(rows, key=lambda row: row["received_at"], reverse=True):
            yield row["pk"]
        hour -= timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An event of the ledger: its story, and its row as it is stored."""

    story: Story
    row: Row

    def states(self, target: Target) -> dict[str, str]:
        """Return where each agent is with it; QUEUED is shown, not stored."""
        stored = {run.agent: str(run.state) for run in self.story.runs}
        return stored | dict.fromkeys(self._waiting(target), "QUEUED")

    def _waiting(self, target: Target) -> list[str]:
        """Return the agents that should hear it and have no run of it yet."""
        if self.story.is_ignored or self.story.is_unheard or self.story.via != "door":
            return []
        try:
            entry = bus.entry_of(self.row)
        except bus.Unpublishable:
            return []
        running = {run.agent for run in self.story.runs}
        heard_by = bus.listeners(target.fleet.agents.values(), entry)
        return [agent.name for agent in heard_by if agent.key not in running]


def find(target: Target, event_id: str) -> Found | None:
    """Return an event with all that became of it, by one query on its id."""
    rows = list(target.table.query(event_id))
    own = next((row for row in rows if row["sk"] == EVENT_ROW), None)
    if own is None:
        return None
    return Found(story=told(event_from(own, target.bodies.get), rows), row=own)


def get(target: Target, event_id: str) -> Found:
    """Return an event that must be there.

    Raises:
        CliError: it is not in the ledger.
    """
    found = find(target, event_id)
    if found is None:
        raise CliError(
            f"no event {event_id!r} in the ledger of {target.name};"
            " `bellhop events` lists them, each with its whole id"
        )
    return found
