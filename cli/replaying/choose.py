"""Which runs a replay is about: filters over what the ledger knows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from cli.output import UsageError
from cli.target import Target
from lambdas.dlq_digest.known import Dead, dead_keys, dead_runs, letter_of
from lambdas.dlq_digest.letters import Letter
from lambdas.shared.blame import Blame
from lambdas.shared.clock import milliseconds
from lambdas.shared.story import RUN, RunRecord, State, is_stranded
from lambdas.shared.table import Row

# So long a dead run is kept at the longest; its event expires before.
_OLDEST = timedelta(days=400)
_REPLAYABLE_AGAIN = frozenset({State.SUCCEEDED, State.SKIPPED, State.DEAD})


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What an operator asked for. Times are epoch milliseconds.

    ``again``: what is over runs once more, succeeded or not, and of ``ids`` also
    what no message has come for; ``fresh_effects``: and makes its effects anew.
    """

    ids: tuple[str, ...] = ()
    agent: str | None = None
    group: str | None = None
    category: str | None = None
    died_from: int | None = None
    died_until: int | None = None
    accepted_from: int | None = None
    accepted_until: int | None = None
    again: bool = False
    fresh_effects: bool = False

    def to_text(self) -> str:
        """Return it as a job's row keeps it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read :meth:`to_text` back."""
        values = json.loads(text)
        return cls(**{**values, "ids": tuple(values["ids"])})

    @property
    def is_everything(self) -> bool:
        """Whether nothing narrows it down."""
        return not (self.ids or self.agent or self.group or self.category) and not (
            self.died_from or self.died_until or self.accepted_from
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One run to be sent round again; ``agent`` is the name in the fleet."""

    agent: str
    dead: Dead
    letter: Letter | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Where its row is."""
        return self.dead.event_id, f"{RUN}{self.dead.run.agent}"

    def is_woken_by(self, envelope_id: str) -> bool:
        """Whether the worker would take a letter in that envelope for a redrive."""
        return self.dead.run.envelope_id in {None, envelope_id}


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """``items`` to send; ``expired`` are too old to be run safely."""

    items: list[Item] = field(default_factory=list)
    expired: int = 0


def check(target: Target, choice: Choice) -> None:
    """Refuse what can choose nothing.

    Raises:
        UsageError: what was wanted, and what there is.
    """
    if choice.agent is not None and choice.agent not in target.fleet.agents:
        there = ", ".join(target.fleet.agents) or "none"
        raise UsageError(f"no agent {choice.agent!r} in the fleet; there are: {there}")
    kinds = [str(kind) for kind in Blame]
    if choice.category is not None and choice.category not in kinds:
        raise UsageError(
            f"no category {choice.category!r}; there are: {', '.join(kinds)}"
        )
    if choice.fresh_effects and not choice.again:
        raise UsageError("--fresh-effects needs --again: it makes what was done anew")


def choose(target: Target, choice: Choice, before: datetime) -> Chosen:
    """Return the runs that ``choice`` is about and that ended before ``before``."""
    items, expired = [], 0
    # An event expires with its rows; a run needs a moment, too.
    horizon = target.now().timestamp() + 60
    for item in _candidates(target, choice, before):
        if not _matches(item, choice, milliseconds(before)):
            continue
        if item.dead.expires_at <= horizon:
            expired += 1
        else:
            items.append(item)
    return Chosen(items=items, expired=expired)


def _candidates(target: Target, choice: Choice, before: datetime) -> Iterator[Item]:
    names = {agent.key: agent.name for agent in target.fleet.agents.values()}
    found = _again(target, choice) if choice.again else _dead(target, choice, before)
    for dead in found:
        agent = names.get(dead.run.agent)
        if agent is not None:
            yield Item(agent=agent, dead=dead, letter=letter_of(dead, agent))


def _dead(target: Target, choice: Choice, before: datetime) -> Iterator[Dead]:
    if choice.ids:
        rows = _runs(target, choice.ids)
        yield from (Dead.from_row(r) for r in rows if r.get("state") == State.DEAD)
        return
    keys = list(dead_keys(target.table, before - _OLDEST, before))
    yield from dead_runs(target.table, keys)


def _again(target: Target, choice: Choice) -> Iterator[Dead]:
    ids: Sequence[str] = choice.ids
    if not ids and choice.accepted_from is not None:
        since = _utc(choice.accepted_from)
        until = _utc(choice.accepted_until or milliseconds(target.now()))
        ids = list(target.ledger.accepted(since, until))
    for row in _runs(target, ids):
        run = RunRecord.from_row(row)
        # Only by name: one whose message merely waits behind many would begin anew.
        is_named = row["pk"] in choice.ids
        if run.state in _REPLAYABLE_AGAIN or (is_named and _strands(target, run)):
            yield Dead.from_row(row)


def _strands(target: Target, run: RunRecord) -> bool:
    now_ms = milliseconds(target.now())
    return any(
        is_stranded(run, agent.visibility_seconds, now_ms)
        for agent in target.fleet.agents.values()
        if agent.key == run.agent
    )


def _runs(target: Target, ids: Sequence[str]) -> Iterator[Row]:
    for event_id in ids:
        yield from target.table.query(event_id, RUN)


def _matches(item: Item, choice: Choice, before_ms: int) -> bool:
    run, letter = item.dead.run, item.letter
    ended = run.finished_at or 0
    tests: list[Any] = [
        choice.agent is None or item.agent == choice.agent,
        choice.group is None
        or (letter is not None and letter.reason.fingerprint == choice.group),
        choice.category is None
        or (letter is not None and letter.blame == choice.category),
        choice.died_from is None or ended >= choice.died_from,
        choice.died_until is None or ended < choice.died_until,
        ended < before_ms,
    ]
    return all(tests)


def _utc(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
