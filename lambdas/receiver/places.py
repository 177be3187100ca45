"""Where a request holds a value: a header, the query, a path into the body.

A sender's record names places: a plain text is a path into the decoded body
(``repository.full_name``, ``items.0.id``), and any function of a message will do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

from lambdas.shared.errors import Code, Rejected
from lambdas.shared.event import Fact

# Ids are keys; actor, thread and tenant travel on the bus. Nobody's is longer.
LONGEST_TEXT = 256

# More than any float holds is infinite to a parser of JSON, or refused by it.
_LONGEST_NUMBER_BITS = 1023

# A comma would mean that the header came twice: API Gateway joins them so.
_CLEAN_HEADER = re.compile(r"[\x20-\x2b\x2d-\x7e]{1,1024}")
_DIGITS = re.compile(r"[0-9]{1,16}")
_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:?\d\d)", re.ASCII
)

_DATE = re.compile(
    r"[A-Z][a-z]{2},? \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [A-Z]{3}", re.ASCII
)

Unit = Literal["s", "ms", "rfc3339"]


class Message(Protocol):
    """What places look into: a whole request, or one of its events."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The request's headers, names in lower case."""
        ...

    @property
    def arguments(self) -> Mapping[str, str]:
        """The arguments of the request's query."""
        ...

    @property
    def data(self) -> Any:
        """The decoded body, or the part of it that is one event."""
        ...


Place = str | Callable[[Message], Any]


@dataclass(frozen=True, slots=True)
class Header:
    """A header that holds one value; absent or empty it is None.

    Raises:
        Rejected: it came twice, or holds anything but ASCII.
    """

    name: str  # in lower case

    def __call__(self, message: Message) -> str | None:
        """Return the header's value."""
        value = message.headers.get(self.name, "").strip()
        if value and not _CLEAN_HEADER.fullmatch(value):
            raise Rejected(Code.MALFORMED, f"{self.name} is not one plain value")
        return value or None


@dataclass(frozen=True, slots=True)
class Query:
    """An argument of the query; absent it is None."""

    name: str

    def __call__(self, message: Message) -> str | None:
        """Return the argument's first value, decoded."""
        return message.arguments.get(self.name)


@dataclass(frozen=True, slots=True)
class Body:
    """A path into the decoded body, with a value for where it leads nowhere."""

    path: str
    default: Any = field(default=None, kw_only=True)

    def __call__(self, message: Message) -> Any:
        """Return what the path leads to."""
        found = walk(message.data, self.path)
        return self.default if found is None else found


def first(*places: Place) -> Callable[[Message], Any]:
    """Return the place that is the first of ``places`` to hold something."""

    def held(message: Message) -> Any:
        found = (find(place, message) for place in places)
        return next((value for value in found if value), None)

    return held


def find(place: Place | None, message: Message) -> Any:
    """Return what ``message`` holds at ``place``, or None."""
    if place is None:
        return None
    return walk(message.data, place) if isinstance(place, str) else place(message)


def walk(data: Any, path: str) -> Any:
    """Follow ``path`` into JSON values: names and list indexes, joined by dots."""
    for step in path.removeprefix("$.").replace("[", ".").replace("]", "").split("."):
        if isinstance(data, dict):
            data = data.get(step)
        elif isinstance(data, list) and _DIGITS.fullmatch(step):
            data = data[int(step)] if int(step) < len(data) else None
        else:
            return None
    return data


def text(value: Any) -> str | None:
    """Return a word of the sender as text that every store takes, or None.

    Numbers become text. What is longer than 256 characters is cut; a lone
    surrogate, which UTF-8 cannot spell, is written out.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    clean = str(value).encode("utf-8", "backslashreplace").decode()
    return clean[:LONGEST_TEXT] or None


def fact(value: Any) -> Fact:
    """Return ``value`` if a rule can match on it, or None."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER_BITS:
        return None
    return value if isinstance(value, bool | int | float) else None


def instant(value: Any, unit: Unit | None = None) -> datetime | None:
    """Read a time: epoch seconds, milliseconds, or RFC 3339; junk is None.

    Without ``unit`` a number is taken for milliseconds where seconds would
    lie after the year 5000, and the date of an HTTP header will do.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    word = str(value)
    try:
        if isinstance(value, float):
            number = value
        elif _DIGITS.fullmatch(word) and unit != "rfc3339":
            number = int(word)
        elif _RFC3339.fullmatch(word) and unit not in ("s", "ms"):
            return datetime.fromisoformat(word.upper()).astimezone(UTC)
        else:
            return _http_date(word) if unit is None else None
        if unit == "ms" or (unit is None and number > 100_000_000_000):
            number /= 1000
        return datetime.fromtimestamp(number, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _http_date(word: str) -> datetime | None:
    if not _DATE.fullmatch(word):
        return None
    # Imported here: hardly anybody writes times so.
    from email.utils import parsedate_to_datetime

    found = parsedate_to_datetime(word)
    return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
