"""What is remembered of a calendar's feed between two looks: one row of the ledger."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from lambdas.planner.occurrence import text_of
from lambdas.planner.task import pk_of
from lambdas.shared.table import Absent, Change, IsNot, Table

FEED = "feed"
#: A person said that what is gone from the feed is gone; it is obeyed once.
BELIEVE = "believe"
# An update has a condition, and this one is never refused.
_ALWAYS = Absent("feed") | IsNot("feed", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """``since`` is the first look; ``read_at`` the last one that was obeyed.

    ``kept`` is where the last good body lies, for when it has not changed; ``token``
    is a sync token of a calendar that has them; ``wait_until``: the other side asked
    not to be asked before then.
    """

    calendar: str
    since: datetime
    read_at: datetime | None = None
    etag: str = ""
    modified: str = ""
    kept: str = ""
    token: str = ""
    wait_until: datetime | None = None
    why: str = ""
    held: tuple[str, ...] = ()
    is_shrink_believed: bool = False
    _believed: bool = field(default=False, repr=False)

    @classmethod
    def read(cls, table: Table, calendar: str, now: datetime) -> Self:
        """Return what is remembered; of a new calendar, that it was never read."""
        row: Any = table.get(pk_of(calendar), FEED) or {}
        values = json.loads(row.get("feed", "{}"))
        for name in ("since", "read_at", "wait_until"):
            if values.get(name):
                values[name] = datetime.fromisoformat(values[name])
        values["held"] = tuple(values.get("held", ()))
        return cls(
            **{
                "since": now,
                **values,
                "calendar": calendar,
                "is_shrink_believed": bool(row.get(BELIEVE)),
            }
        )

    def write(self, table: Table) -> None:
        """Remember it. Two at once: the later look's is as good as the other's."""
        values = {
            "since": text_of(self.since),
            "read_at": text_of(self.read_at) if self.read_at else None,
            "wait_until": text_of(self.wait_until) if self.wait_until else None,
            **{n: getattr(self, n) for n in ("etag", "modified", "kept", "token")},
            "why": self.why,
            "held": list(self.held),
        }
        change = Change(
            set={"feed": json.dumps(values)},
            remove=[BELIEVE] if self._believed else [],
        )
        table.update(pk_of(self.calendar), FEED, change, when=_ALWAYS)

    def obeyed(self, now: datetime, held: tuple[str, ...]) -> Self:
        """Return it after a look; ``held`` is what was not obeyed of it."""
        return replace(
            self,
            read_at=now,
            wait_until=None,
            why="",
            held=held,
            _believed=self.is_shrink_believed,
        )

    def refused(self, why: str, *, wait_until: datetime | None) -> Self:
        """Return it after a look at a feed that was not to be obeyed at all."""
        return replace(self, why=why, wait_until=wait_until)


def believe(table: Table, calendar: str) -> None:
    """Let the next look obey a feed that has lost most of its entries, once."""
    table.update(pk_of(calendar), FEED, Change(set={BELIEVE: True}), when=_ALWAYS)
