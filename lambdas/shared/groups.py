"""What people decided about a group of dead letters, and when it was last told.

A group is one fault of one agent. Its row says what an operator did about it;
whether that still holds is computed, because a fault that recurs opens again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from lambdas.shared.clock import milliseconds
from lambdas.shared.table import NEW, Change, Is, IsNot, Row, Table

GROUP = "group#"
# A group that nobody touched and that did not recur is forgotten with its letters.
_REMEMBERED = timedelta(days=90)


class Standing(StrEnum):
    """Where a group stands."""

    OPEN = "OPEN"
    #: Somebody is at it.
    ACKNOWLEDGED = "ACKNOWLEDGED"
    #: Not worth a word until a day that was named.
    IGNORED = "IGNORED"
    #: The fault is mended.
    RESOLVED = "RESOLVED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is known of a group beside its letters. Times are epoch milliseconds.

    ``first_told`` and ``last_told`` are when a digest spoke of it.
    """

    standing: Standing = Standing.OPEN
    at: int = 0
    by: str | None = None
    note: str | None = None
    until: int | None = None
    first_told: int | None = None
    last_told: int | None = None

    def now(self, newest_death: int, now_ms: int) -> Standing:
        """Return where the group stands after a death at ``newest_death``.

        Acknowledged and resolved hold until the fault recurs; ignored holds
        until its day, and from then on until it recurs.
        """
        recurred = newest_death > self.at
        is_silent = self.until is not None and now_ms < self.until
        if self.standing is Standing.IGNORED and is_silent:
            return Standing.IGNORED
        return Standing.OPEN if recurred else self.standing

    @classmethod
    def from_row(cls, row: Row) -> Decision:
        """Read the row of a group."""
        return cls(
            standing=Standing(row.get("standing", Standing.OPEN)),
            at=row.get("at", 0),
            by=row.get("by"),
            note=row.get("note"),
            until=row.get("until"),
            first_told=row.get("first_told"),
            last_told=row.get("last_told"),
        )


@dataclass(frozen=True, slots=True)
class Groups:
    """The rows ``group#<fingerprint>``, one per agent."""

    table: Table

    def decision(self, fingerprint: str, agent: str) -> Decision:
        """Return what is known of a group."""
        row = self.table.get(f"{GROUP}{fingerprint}", agent)
        return Decision() if row is None else Decision.from_row(row)

    def decide(
        self,
        fingerprint: str,
        agent: str,
        standing: Standing,
        *,
        by: str,
        at: datetime,
        note: str | None = None,
        until: datetime | None = None,
    ) -> None:
        """Write down what an operator decided; the last word holds."""
        values: dict[str, Any] = {
            "standing": str(standing),
            "at": milliseconds(at),
            "by": by,
            "note": note,
            "until": None if until is None else milliseconds(until),
        }
        self._update(fingerprint, agent, values, at)

    def reopen(self, fingerprint: str, agent: str, found: Decision) -> bool:
        """Open a group that recurred, unless somebody decided anew meanwhile."""
        change = Change(
            set={"standing": str(Standing.OPEN)}, remove=("until", "note", "by")
        )
        unchanged = Is("at", found.at) & IsNot("standing", str(Standing.OPEN))
        pk = f"{GROUP}{fingerprint}"
        return self.table.update(pk, agent, change, when=unchanged).done

    def tell(self, fingerprint: str, agent: str, found: Decision, at: datetime) -> None:
        """Note that a digest has spoken of it."""
        now_ms = milliseconds(at)
        values: dict[str, Any] = {"last_told": now_ms}
        if found.first_told is None:
            values["first_told"] = now_ms
        self._update(fingerprint, agent, values, at, is_partial=True)

    def _update(
        self,
        fingerprint: str,
        agent: str,
        values: dict[str, Any],
        at: datetime,
        *,
        is_partial: bool = False,
    ) -> None:
        expires_at = int((at + _REMEMBERED).timestamp())
        change = Change(
            set={
                "expires_at": expires_at,
                **{name: v for name, v in values.items() if v is not None},
            },
            remove=[] if is_partial else [n for n, v in values.items() if v is None],
        )
        anyhow = NEW | Is("pk", f"{GROUP}{fingerprint}")
        self.table.update(f"{GROUP}{fingerprint}", agent, change, when=anyhow)
