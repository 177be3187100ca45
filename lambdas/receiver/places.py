"""Where a request holds a value: a header, the query, a path into the body.

A sender's record names places: a plain text is a path into the decoded body
(``repository.full_name``, ``items.0.id``), and any function of a message will do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from lambdas.shared.errors import Code, Rejected
from lambdas.shared.values import walk

# A comma would mean that the header came twice: API Gateway joins them so.
_CLEAN_HEADER = re.compile(r"[\x20-\x2b\x2d-\x7e]{1,1024}")


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
