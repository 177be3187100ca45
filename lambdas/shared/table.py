"""The port under the ledger: rows, changed only under a condition.

A condition is data, not an expression of one database: the DynamoDB adapter
writes it out, the in-memory table of the tests evaluates it. So the rules about
who may change what stand once, in the code that owns them, and a random
interleaving over the in-memory table exercises the very same rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

# Text, whole numbers, booleans, bytes, and maps of them. No fractions: DynamoDB
# returns them as decimals, so what may hold one is kept as JSON text.
Row = Mapping[str, Any]


class Condition:
    """Something that must hold of the stored row; a missing row has no attributes."""

    __slots__ = ()

    def __or__(self, other: Condition) -> Condition:
        """Either holds."""
        return Any_((self, other))

    def __and__(self, other: Condition) -> Condition:
        """Both hold."""
        return Every((self, other))


@dataclass(frozen=True, slots=True)
class Absent(Condition):
    """The attribute is not there. ``Absent("pk")``: there is no such row."""

    name: str


@dataclass(frozen=True, slots=True)
class Is(Condition):
    """The attribute is there and equals ``value``."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class IsNot(Condition):
    """The attribute differs from ``value``; use it only where it is always there."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class OneOf(Condition):
    """The attribute is there and is one of ``values``."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Below(Condition):
    """The attribute is there and less than ``value``."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Every(Condition):
    """All of ``parts`` hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any_(Condition):  # noqa: N801 - `Any` is taken by typing
    """At least one of ``parts`` holds."""

    parts: tuple[Condition, ...]


NEW = Absent("pk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an update does to a row that fulfils its condition; it is made if absent."""

    set: Row = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)
    remove: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """``row`` as it is after a change that was done, or as it was found if refused."""

    done: bool
    row: Row


class Table(Protocol):
    """Rows under ``pk`` and ``sk``; every call raises Unavailable or Misconfigured."""

    def put(self, row: Row, *, when: Condition | None = None) -> bool:
        """Write the whole row; ``False`` when the condition refused it."""
        ...

    def update(self, pk: str, sk: str, change: Change, *, when: Condition) -> Outcome:
        """Change one row in place, if the condition holds."""
        ...

    def get(self, pk: str, sk: str) -> Row | None:
        """Return the row as it is now (a consistent read)."""
        ...

    def query(self, pk: str, prefix: str = "") -> Iterator[Row]:
        """Return the rows of ``pk`` whose ``sk`` starts so, in its order, as now."""
        ...

    def index(self, index: str, partition: str, low: Any, high: Any) -> Iterator[Row]:
        """Return the keys in an index partition, low <= sort < high, in order.

        An index lags its table by moments.
        """
        ...
