"""An entry of a calendar as it falls on one day, whatever kind of feed told it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Self

from lambdas.shared.errors import BellhopError

# What the only occurrence of an entry is called: it keeps its name when it moves.
ONCE = "once"

# What nobody reads to the end is not carried round: text of strangers, too.
LONGEST_TITLE, LONGEST_DESCRIPTION, MOST_NAMES = 500, 8_000, 100


class Refused(BellhopError):
    """A feed that is not obeyed; the message is the reason, for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when until when a calendar is looked at; both timezone-aware."""

    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One entry on one day. Both times are in UTC, the end is not part of it.

    ``name`` tells the occurrences of one ``uid`` apart: the time that the series
    gave it at first, or ``once``. All texts are a stranger's.
    """

    uid: str
    name: str
    start: datetime
    end: datetime
    is_all_day: bool = False
    is_cancelled: bool = False
    title: str = ""
    description: str = ""
    location: str = ""
    categories: tuple[str, ...] = ()
    attendees: tuple[str, ...] = ()

    @property
    def over_at(self) -> datetime:
        """When it is too late: a day that is due is over at its end."""
        return max(self.start, self.end) if self.is_all_day else self.start

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        values = asdict(self)
        return {**values, "start": text_of(self.start), "end": text_of(self.end)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Read :meth:`to_json` back."""
        return cls(
            **{
                **values,
                "start": datetime.fromisoformat(values["start"]),
                "end": datetime.fromisoformat(values["end"]),
                "categories": tuple(values["categories"]),
                "attendees": tuple(values["attendees"]),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a feed held: ``entries`` in all, and those occurrences in the window.

    ``notes`` say what was passed over or read with a guess, and why.
    """

    occurrences: tuple[Occurrence, ...]
    entries: int
    notes: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return it as text, for another process."""
        listed = [each.to_json() for each in self.occurrences]
        return json.dumps([listed, self.entries, self.notes])

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read :meth:`to_text` back."""
        listed, entries, notes = json.loads(text)
        return cls(
            occurrences=tuple(map(Occurrence.from_json, listed)),
            entries=entries,
            notes=tuple(notes),
        )


def text_of(instant: datetime) -> str:
    """Return an instant as names and payloads hold it: UTC, to the second."""
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
