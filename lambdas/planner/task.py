"""Work that is planned for a deadline: what the ledger keeps of it, and its event."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Self

from lambdas.planner.occurrence import text_of
from lambdas.planner.rules import Wanted
from lambdas.shared.event import Content, Event, event_id
from lambdas.shared.fleet import CALENDAR
from lambdas.shared.table import NEW, Condition, Is, Row

TASK = "task#"

# A task is known for longer than any entry is moved ahead: what has begun must not
# begin again when it comes back into view.
_REMEMBERED = timedelta(days=400)

# Scheduler: 1 to 64 of these in a name.
_NAME_HASH = 40


class State(StrEnum):
    """What became of a planned task."""

    PLANNED = "planned"
    BEGUN = "begun"
    MISSED = "missed"
    CANCELLED = "cancelled"


def pk_of(calendar: str) -> str:
    """Return the key under which the rows of a calendar lie."""
    return f"plan#{calendar}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Work for one deadline. All times are in UTC.

    ``id`` is its event's and never changes, whatever becomes of the entry: it holds
    the uid and the occurrence under which the work was first planned; ``uid`` and
    ``occurrence`` are those of today. ``is_withdrawn``: the entry is gone, and the
    work had begun. ``scheduled`` is the one-off schedule that is surely there;
    ``leaving`` are those that may be, by names with a space between.
    """

    id: str
    calendar: str
    uid: str
    occurrence: str
    category: str
    agent: str
    deadline: datetime
    over_at: datetime
    begin_at: datetime
    state: State
    title: str = ""
    description: str = ""
    location: str = ""
    is_all_day: bool = False
    is_withdrawn: bool = False
    scheduled: str = ""
    leaving: str = ""
    version: int = 0

    @classmethod
    def of(cls, calendar: str, wanted: Wanted) -> Self:
        """Return the task for an occurrence, as first planned."""
        occurrence, rule = wanted.occurrence, wanted.rule
        return cls(
            id=task_id(calendar, occurrence.uid, occurrence.name, rule.category),
            calendar=calendar,
            uid=occurrence.uid,
            occurrence=occurrence.name,
            category=rule.category,
            agent=rule.agent,
            deadline=occurrence.start,
            over_at=occurrence.over_at,
            begin_at=wanted.begin_at,
            state=State.PLANNED,
            title=occurrence.title,
            description=occurrence.description,
            location=occurrence.location,
            is_all_day=occurrence.is_all_day,
        )

    def updated(self, wanted: Wanted) -> Task:
        """Return it with what the feed says today; state and id are kept."""
        new = Task.of(self.calendar, wanted)
        names = ("id", "state", "version", "scheduled", "leaving")
        kept = {name: getattr(self, name) for name in names}
        if self.state is State.BEGUN:
            # The event was accepted under this category, and began at that time.
            kept |= {"category": self.category, "agent": self.agent}
            kept |= {"begin_at": self.begin_at}
        return replace(new, **kept)

    @property
    def schedule(self) -> str:
        """The name of the one-off schedule that begins it at this time."""
        told = f"{self.id}|{text_of(self.begin_at)}"
        digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self.calendar[:20]}.{digest[:_NAME_HASH]}"

    def event(self, received_at: datetime) -> Event:
        """Return the task as an ordinary event; its texts are a stranger's."""
        buffer = self.deadline - self.begin_at
        payload = {
            "calendar": self.calendar,
            "category": self.category,
            "title": self.title,
            "description": self.description,
            "location": self.location,
            "deadline": text_of(self.deadline),
            "planned": text_of(self.begin_at),
            "buffer_seconds": int(buffer.total_seconds()),
            "all_day": self.is_all_day,
            "uid": self.uid,
            "occurrence": self.occurrence,
        }
        return Event(
            id=self.id,
            source=CALENDAR,
            kind=self.category,
            occurred_at=self.begin_at,
            received_at=received_at,
            content=Content(json.dumps(payload).encode(), "application/json"),
            facts={"calendar": self.calendar},
        )

    def to_row(self) -> Row:
        """Return the row, one version later."""
        values = asdict(self)
        for name in ("deadline", "over_at", "begin_at"):
            values[name] = text_of(values[name])
        values["version"] += 1
        values["state"] = str(self.state)
        expires_at = int((self.over_at + _REMEMBERED).timestamp())
        sk = f"{TASK}{self.id}"
        return {
            **values,
            "pk": pk_of(self.calendar),
            "sk": sk,
            "expires_at": expires_at,
        }

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """Read :meth:`to_row` back."""
        values: dict[str, Any] = {
            name: value
            for name, value in row.items()
            if name not in ("pk", "sk", "expires_at")
        }
        for name in ("deadline", "over_at", "begin_at"):
            values[name] = datetime.fromisoformat(values[name])
        return cls(**{**values, "state": State(values["state"])})

    @property
    def unchanged(self) -> Condition:
        """What must hold of the row that this task was read from."""
        return NEW if self.version == 0 else Is("version", self.version)


def task_id(calendar: str, uid: str, occurrence: str, category: str) -> str:
    """Return the id of the event that a task becomes."""
    return event_id(CALENDAR, f"{calendar}:{uid}:{occurrence}:{category}")
