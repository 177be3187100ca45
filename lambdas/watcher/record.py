"""What the watcher remembers of a schedule between two looks: one row of the ledger."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Self

from lambdas.shared.fleet import Schedule
from lambdas.shared.table import NEW, Condition, Is, Row
from lambdas.shared.ticks import planned_of, text_of

WATCH = "watch"
# Scheduler tries for a day at most: what has not come by then never will.
_FOLLOWED = timedelta(hours=25)


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A tick that was due and is not settled yet.

    ``is_missing``: it was reported as missed, and may still come late.
    ``has_overrun``: that was reported.
    """

    planned: datetime
    is_missing: bool = False
    has_overrun: bool = False

    def is_old(self, now: datetime) -> bool:
        """Whether nothing can bring it any more."""
        return now - self.planned > _FOLLOWED


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Fires due at ``until`` or before have been judged; ``since`` is the first look.

    ``promise`` is the schedule as it was then: a changed one is watched anew, since
    what it would have promised earlier was never promised.
    """

    promise: str
    since: datetime
    until: datetime
    followed: tuple[Followed, ...] = ()
    was_in_line: bool = False
    version: int = field(default=0, compare=False)

    @classmethod
    def new(cls, schedule: Schedule, now: datetime, old: Record | None) -> Record:
        """Begin to watch ``schedule``; ticks that are still followed stay so."""
        begun = cls(promise=promise_of(schedule), since=now, until=now)
        if old is None:
            return begun
        return replace(
            begun,
            followed=old.followed,
            was_in_line=old.was_in_line,
            version=old.version,
        )

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """Read :meth:`to_row` back."""
        return cls(
            promise=row["promise"],
            since=datetime.fromisoformat(row["since"]),
            until=datetime.fromisoformat(row["until"]),
            followed=tuple(map(_followed, json.loads(row["followed"]))),
            was_in_line=row["was_in_line"],
            version=row["version"],
        )

    def to_row(self, pk: str) -> Row:
        """Return the row, one version later."""
        followed = [
            [text_of(f.planned), int(f.is_missing), int(f.has_overrun)]
            for f in self.followed
        ]
        return {
            "pk": pk,
            "sk": WATCH,
            "promise": self.promise,
            "since": self.since.isoformat(),
            "until": self.until.isoformat(),
            "followed": json.dumps(followed, separators=(",", ":")),
            "was_in_line": self.was_in_line,
            "version": self.version + 1,
        }

    @property
    def unchanged(self) -> Condition:
        """What must hold of the row that this record was read from."""
        return NEW if self.version == 0 else Is("version", self.version)


def promise_of(schedule: Schedule) -> str:
    """Return what, if changed, makes the schedule another promise."""
    if not schedule.enabled:
        return "nothing"
    window = schedule.flexible_minutes
    return f"{schedule.expression} {schedule.timezone} window {window}"


def _followed(stored: list[Any]) -> Followed:
    planned, is_missing, has_overrun = stored
    return Followed(
        planned=planned_of(planned),
        is_missing=bool(is_missing),
        has_overrun=bool(has_overrun),
    )
