"""The dead letters that the ledger knows: read newest first, within bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

from lambdas.dlq_digest.letters import RETENTION, Letter
from lambdas.shared.clock import milliseconds
from lambdas.shared.story import RUN, RunRecord, State
from lambdas.shared.table import Row, Table

BY_STATE = "by-state"
# A row read is one call; boto3 keeps ten connections.
_READS_AT_ONCE = 8
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """One dead run; ``expires_at`` is its event's, in epoch seconds."""

    event_id: str
    run: RunRecord
    expires_at: int
    replayed_at: int = 0
    replayed_by: str | None = None

    @classmethod
    def from_row(cls, row: Row) -> Dead:
        """Read a run row."""
        return cls(
            event_id=row["pk"],
            run=RunRecord.from_row(row),
            expires_at=row.get("expires_at", 0),
            replayed_at=row.get("replayed_at", 0),
            replayed_by=row.get("replayed_by"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLetters:
    """What the ledger knows: ``total`` in all, of which ``letters`` were read.

    ``by_agent`` counts all of them by the name that runs are kept under.
    """

    letters: list[Letter]
    total: int
    by_agent: Mapping[str, int]


def known(
    table: Table, names: Mapping[str, str], now: datetime, *, most: int
) -> KnownLetters:
    """Return the dead letters of the last two weeks that are still in a DLQ.

    ``names`` are the agents' names by the name that runs are kept under.
    """
    keys = _keys(table, now)
    by_agent: dict[str, int] = {}
    for _, sk in keys:
        agent = sk.removeprefix(RUN)
        by_agent[agent] = by_agent.get(agent, 0) + 1
    now_ms = milliseconds(now)
    letters = []
    for dead in dead_runs(table, keys[:most]):
        letter = letter_of(dead, names.get(dead.run.agent, dead.run.agent))
        if letter is None or letter.expires_ms <= now_ms:
            by_agent[dead.run.agent] -= 1
        else:
            letters.append(letter)
    gone = min(len(keys), most) - len(letters)
    return KnownLetters(letters=letters, total=len(keys) - gone, by_agent=by_agent)


def dead_runs(table: Table, keys: list[tuple[str, str]]) -> Iterator[Dead]:
    """Yield those of ``keys`` that are dead now; an index lags its table."""
    with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
        for row in pool.map(lambda key: table.get(*key), keys):
            if row is not None and row.get("state") == State.DEAD:
                yield Dead.from_row(row)


def dead_keys(
    table: Table, since: datetime, until: datetime
) -> Iterator[tuple[str, str]]:
    """Yield event id and sort key of what died in since <= t < until."""
    low, high = milliseconds(since), milliseconds(until)
    for row in table.index(BY_STATE, State.DEAD, low, high):
        yield row["pk"], row["sk"]


def letter_of(dead: Dead, agent: str) -> Letter | None:
    """Return a dead run as a letter; ``None`` when nobody wrote its reason."""
    run = dead.run
    if run.reason is None or run.finished_at is None:
        return None
    return Letter(
        queue="agents",
        agent=agent,
        event_id=dead.event_id,
        reason=run.reason,
        died_ms=run.finished_at,
        sent_ms=run.sent_at or run.started_at or run.finished_at,
        message_id=run.carrier or None,
    )


def _keys(table: Table, now: datetime) -> list[tuple[str, str]]:
    """Newest first: an index reads forward only, so day by day backwards."""
    keys: list[tuple[str, str]] = []
    end = now + timedelta(minutes=1)
    oldest = now - RETENTION
    while end > oldest:
        start = max(end - _DAY, oldest)
        keys += reversed(list(dead_keys(table, start, end)))
        end = start
    return keys
