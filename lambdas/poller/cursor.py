"""How far a feed has been taken: one row of the ledger, held by one run at a time.

The marks of items, eight bytes each with four of what they held, lie beside it: the
ledger forgets an event after ``ledger_days``, and an item may stay in its feed for
longer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Self

from lambdas.poller.site import LONGEST_WAIT, Got
from lambdas.shared.clock import milliseconds, rfc3339
from lambdas.shared.table import Absent, Below, Change, Is, Row, Table

# The function's own limit is 10 minutes: a run that is alive still holds the row.
_LEASE = timedelta(minutes=15)
_SK = "cursor"
_MARK, _PRINT = 8, 4

Marks = Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """What is remembered of a feed between two runs.

    ``marks`` is None before the first run that was obeyed. Not before ``next_at`` is
    the feed looked at again. ``why`` it was not obeyed the last time, if so;
    ``moved`` is the host that it has moved to for good; ``rest`` items are waiting
    for the next run.
    """

    etag: str = ""
    modified: str = ""
    address: str = ""
    next_at: datetime | None = None
    read_at: datetime | None = None
    why: str = ""
    moved: str = ""
    rest: int = 0
    is_gone: bool = False
    marks: Marks | None = field(default=None, repr=False)

    def is_resting(self, now: datetime) -> bool:
        """Tell whether it is too early for a look; a clock that ran ahead is none."""
        if self.next_at is None:
            return False
        return timedelta(0) < self.next_at - now <= LONGEST_WAIT

    def at(self, address: str) -> Self:
        """Return it for a feed at ``address``: what a site said holds for no other.

        What was accepted is remembered all the same.
        """
        name = hashlib.sha256(address.encode("utf-8", "replace")).hexdigest()[:16]
        if name == self.address:
            return self
        return replace(type(self)(address=name), marks=self.marks, read_at=self.read_at)

    def refused(self, why: str, now: datetime, wait: timedelta, *, gone: bool) -> Self:
        """Return it after a look at what was not to be obeyed."""
        return replace(self, why=why, next_at=_after(now, wait), is_gone=gone)

    def unchanged(self, got: Got, now: datetime) -> Self:
        """Return it after the site said that nothing is new."""
        return replace(
            self,
            why="",
            read_at=now,
            next_at=_after(now, got.wait),
            moved=got.moved,
            is_gone=False,
        )

    def taken(
        self, got: Got, now: datetime, wait: timedelta, *, marks: Marks, rest: int
    ) -> Self:
        """Return it after items were accepted, of which ``rest`` are waiting."""
        # With some left, the same answer must come again.
        etag, modified = ("", "") if rest else (got.etag, got.modified)
        return replace(
            self.unchanged(got, now),
            etag=etag,
            modified=modified,
            next_at=_after(now, wait),
            marks=marks,
            rest=rest,
        )


class Cursor:
    """The row of one source; taken by one run, moved by it, and let go."""

    def __init__(self, table: Table, source: str) -> None:
        """Keep the row in ``table``."""
        self._table = table
        self._pk = f"cursor#{source}"

    def take(self, token: str, now: datetime) -> Position | None:
        """Take the row for the run ``token``; ``None`` where another one holds it.

        A run that died lets go after a quarter of an hour.
        """
        change = Change(
            set={"claim_token": token, "due_at": milliseconds(now + _LEASE)}
        )
        is_free = Absent("due_at") | Below("due_at", milliseconds(now))
        outcome = self._table.update(self._pk, _SK, change, when=is_free)
        held = outcome.row.get("due_at", 0)
        if not outcome.done and held > milliseconds(now + _LEASE):
            # By a clock that ran ahead: nobody holds it for so long.
            is_same = Is("due_at", held)
            outcome = self._table.update(self._pk, _SK, change, when=is_same)
        return _position(outcome.row) if outcome.done else None

    def read(self) -> Position:
        """Return the position as it is, without taking the row."""
        return _position(self._table.get(self._pk, _SK) or {})

    def move(self, token: str, position: Position) -> bool:
        """Write ``position``; ``False`` when another run has taken over."""
        values = {
            name: getattr(position, name)
            for name in ("etag", "modified", "address", "why", "moved", "rest")
        }
        values |= {
            "next_at": position.next_at and rfc3339(position.next_at),
            "read_at": position.read_at and rfc3339(position.read_at),
            "is_gone": position.is_gone,
        }
        change: dict[str, Any] = {"feed": json.dumps(values)}
        if position.marks is not None:
            change["marks"] = b"".join(m + p for m, p in position.marks.items())
        held = Is("claim_token", token)
        return self._table.update(self._pk, _SK, Change(set=change), when=held).done

    def let_go(self, token: str) -> None:
        """Let the next run take the row."""
        change = Change(remove=("claim_token", "due_at"))
        self._table.update(self._pk, _SK, change, when=Is("claim_token", token))


def _position(row: Row) -> Position:
    values = json.loads(row.get("feed", "{}"))
    for name in ("next_at", "read_at"):
        if values.get(name):
            values[name] = datetime.fromisoformat(values[name])
    return Position(**values, marks=_marks(row.get("marks")))


def _marks(packed: bytes | None) -> Marks | None:
    if packed is None:
        return None
    step = _MARK + _PRINT
    return {
        packed[at : at + _MARK]: packed[at + _MARK : at + step]
        for at in range(0, len(packed), step)
    }


def _after(now: datetime, wait: timedelta) -> datetime | None:
    return now + min(wait, LONGEST_WAIT) if wait > timedelta(0) else None
