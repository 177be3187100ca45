"""One planned firing of a schedule, and the events that it is. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lambdas.shared.event import Content, Event, event_id
from lambdas.shared.fleet import CRON, Schedule

KIND = "tick"

_READABLE = re.compile(r"[A-Za-z0-9._@-]{1,60}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """``planned`` is the time that was promised, whenever the tick comes.

    It is one event, or with ``items`` one event for each of them.
    """

    schedule: str
    planned: datetime
    items: tuple[Any, ...] = ()

    @classmethod
    def of(cls, schedule: Schedule, planned: datetime) -> Tick:
        """Return the tick of ``schedule`` that was planned for then."""
        return cls(schedule=schedule.name, planned=planned, items=schedule.items)

    @property
    def ids(self) -> list[str]:
        """The ids of its events: the schedule, the planned time, and the item."""
        name = f"{self.schedule}:{text_of(self.planned)}"
        if not self.items:
            return [event_id(CRON, name)]
        return [event_id(CRON, f"{name}:{item_key(item)}") for item in self.items]

    def events(self, received_at: datetime) -> list[Event]:
        """Return its events, as accepted at ``received_at``."""
        told = {"schedule": self.schedule, "planned": text_of(self.planned)}
        payloads = [{**told, "item": item} for item in self.items] or [told]
        return [
            Event(
                id=id_,
                source=CRON,
                kind=KIND,
                occurred_at=self.planned,
                received_at=received_at,
                content=Content(json.dumps(payload).encode(), "application/json"),
                facts={"schedule": self.schedule},
            )
            for id_, payload in zip(self.ids, payloads, strict=True)
        ]


def item_key(item: Any) -> str:
    """Return what an item is called in its event's id, wherever it stands in the list.

    A short plain text is called by itself, anything else by its digest.
    """
    if isinstance(item, str) and _READABLE.fullmatch(item):
        return item
    text = json.dumps(item, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def text_of(instant: datetime) -> str:
    """Return a planned time as ids hold it: UTC, to the second."""
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def planned_of(text: str) -> datetime:
    """Read :func:`text_of` back."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def schedule_of(event_id: str) -> str | None:
    """Return the schedule whose tick an event is; None where it is none."""
    source, _, rest = event_id.partition(":")
    return rest.partition(":")[0] if source == CRON else None
