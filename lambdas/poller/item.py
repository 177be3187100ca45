"""What a feed holds: its items, each under an id, as its format was read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from lambdas.shared.errors import BellhopError
from lambdas.shared.values import instant

# As its bytes are, and unpacked: the largest feeds of blogs have two.
MOST_BYTES = 10_000_000
# The marks of so many fit the row that remembers them.
MOST_ITEMS = 20_000
_LONGEST_DATE = 64


class Refused(BellhopError):
    """What lies at the address is not to be obeyed; nothing is accepted of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One item; ``data`` are JSON values, ``at`` its own time where it tells one."""

    id: str
    data: Any = field(repr=False)
    at: datetime | None = None

    @property
    def body(self) -> bytes:
        """The item as JSON text."""
        text = json.dumps(self.data, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace")

    @property
    def print(self) -> bytes:
        """Four bytes that are others once the item was edited."""
        return hashlib.sha256(self.body).digest()[:4]

    @property
    def mark(self) -> bytes:
        """Eight bytes by which the item is remembered."""
        return hashlib.sha256(self.id.encode("utf-8", "backslashreplace")).digest()[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A feed as it was read, in its own order.

    ``wait`` is how long it asks not to be looked at again. ``notes`` tell of what
    could not be read of it.
    """

    items: tuple[Item, ...]
    wait: timedelta = timedelta(0)
    notes: tuple[str, ...] = ()


def hashed(data: Any) -> str:
    """Return the id of an item that has none: an edit makes another item of it."""
    text = json.dumps(data, sort_keys=True)
    return f"sha256-{hashlib.sha256(text.encode()).hexdigest()}"


def date(value: Any) -> datetime | None:
    """Read an item's time: RFC 3339, RFC 822, epoch; a date is its first minute, UTC.

    Anything else ("3 hours ago") is None.
    """
    found = instant(value)
    if found is not None or not isinstance(value, str):
        return found
    word = value.strip()[:_LONGEST_DATE]
    return _iso(word) or _rfc822(word)


def _iso(word: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(word)
        return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _rfc822(word: str) -> datetime | None:
    # Imported here: feeds of JSON do without.
    from email.utils import parsedate_to_datetime

    try:
        found = parsedate_to_datetime(word)
        return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
    except (ValueError, TypeError, LookupError, OverflowError):
        return None


def first_text(data: Mapping[str, Any], *names: str) -> str:
    """Return the first of these that is a text or a number, without outer blanks."""
    for name in names:
        value = data.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            word = str(value).strip()
            if word:
                return word
    return ""
