"""Where the sweep is: one row of the ledger, held by one sweep at a time."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from lambdas.shared.clock import milliseconds, rfc3339
from lambdas.shared.table import Absent, Below, Change, Is, Row, Table

WINDOW = timedelta(minutes=15)
# A window is read when its youngest event is 45 minutes old: time for the relay's
# and EventBridge's own retries, and for an ordinary backlog.
SETTLED = timedelta(minutes=45)
# The function's own limit is 5 minutes: a sweep that is alive still holds the row.
_LEASE = timedelta(minutes=10)

_KEY = ("cursor#sweep", "cursor")


def window_of(instant: datetime) -> datetime:
    """Return the start of the window that ``instant`` lies in."""
    seconds = int(WINDOW.total_seconds())
    return datetime.fromtimestamp(int(instant.timestamp()) // seconds * seconds, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What has been read, and what is left to be decided.

    Windows before ``until`` have been read. ``undecided`` holds, per agent, the
    starts of windows in which it lacks events that may still wait in its queue.
    ``begun`` is, per agent, when the latest event was accepted that is known to
    have been begun.
    """

    until: datetime
    undecided: Mapping[str, frozenset[datetime]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    begun: Mapping[str, datetime] = field(default_factory=lambda: MappingProxyType({}))

    def saw_begun(self, agent: str, accepted: datetime) -> Progress:
        """Note that ``agent`` has begun an event accepted then."""
        if accepted <= self.begun.get(agent, accepted - WINDOW):
            return self
        return replace(self, begun={**self.begun, agent: accepted})

    def read(self, window: datetime, waiting: Collection[str]) -> Progress:
        """Note that ``window`` was read, and stays open for the agents ``waiting``."""
        undecided = {
            agent: windows - {window} for agent, windows in self.undecided.items()
        }
        for agent in waiting:
            undecided[agent] = undecided.get(agent, frozenset()) | {window}
        return replace(
            self,
            until=max(self.until, window + WINDOW),
            undecided={agent: open_ for agent, open_ in undecided.items() if open_},
        )

    def only(self, agents: Collection[str]) -> Progress:
        """Forget agents that are no longer in the fleet."""
        return replace(
            self,
            undecided={a: w for a, w in self.undecided.items() if a in agents},
            begun={a: at for a, at in self.begun.items() if a in agents},
        )


class Cursor:
    """The row; taken by one sweep, advanced by it, and let go."""

    def __init__(self, table: Table) -> None:
        """Keep the row in ``table``."""
        self._table = table

    def take(self, token: str, now: datetime) -> Progress | None:
        """Take the row for the sweep ``token``; ``None`` where another one holds it.

        A sweep that died lets go after ten minutes.
        """
        change = Change(
            set={"claim_token": token, "due_at": milliseconds(now + _LEASE)}
        )
        is_free = Absent("due_at") | Below("due_at", milliseconds(now))
        outcome = self._table.update(*_KEY, change, when=is_free)
        if not outcome.done:
            return None
        return _progress(outcome.row, now)

    def advance(self, token: str, progress: Progress) -> bool:
        """Write ``progress``; ``False`` when another sweep has taken over."""
        change = Change(set={"progress": _text(progress)})
        return self._table.update(*_KEY, change, when=Is("claim_token", token)).done

    def let_go(self, token: str) -> None:
        """Let the next sweep take the row."""
        change = Change(remove=("claim_token", "due_at"))
        self._table.update(*_KEY, change, when=Is("claim_token", token))


def _progress(row: Row, now: datetime) -> Progress:
    text = row.get("progress")
    if text is None:
        return Progress(until=window_of(now - SETTLED - WINDOW))
    stored: dict[str, Any] = json.loads(text)
    return Progress(
        until=datetime.fromisoformat(stored["until"]),
        undecided={
            agent: frozenset(_windows(spans))
            for agent, spans in stored["undecided"].items()
        },
        begun={
            agent: datetime.fromisoformat(accepted)
            for agent, accepted in stored["begun"].items()
        },
    )


def _text(progress: Progress) -> str:
    stored = {
        "until": rfc3339(progress.until),
        "undecided": {
            agent: _spans(windows) for agent, windows in progress.undecided.items()
        },
        "begun": {agent: rfc3339(at) for agent, at in progress.begun.items()},
    }
    return json.dumps(stored, separators=(",", ":"))


def _spans(windows: Iterable[datetime]) -> list[tuple[str, int]]:
    """Return the windows as starts and counts: a long backlog stays a short row."""
    spans: list[tuple[datetime, int]] = []
    for window in sorted(windows):
        if spans and spans[-1][0] + spans[-1][1] * WINDOW == window:
            spans[-1] = (spans[-1][0], spans[-1][1] + 1)
        else:
            spans.append((window, 1))
    return [(rfc3339(start), length) for start, length in spans]


def _windows(spans: Iterable[tuple[str, int]]) -> Iterator[datetime]:
    for start, length in spans:
        for index in range(length):
            yield datetime.fromisoformat(start) + index * WINDOW
