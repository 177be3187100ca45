"""The ledger in memory: conditions hold as in DynamoDB, each call is atomic."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from lambdas.shared.ledger import TableLedger
from lambdas.shared.table import (
    Absent,
    Any_,
    Below,
    Change,
    Condition,
    Every,
    Is,
    IsNot,
    OneOf,
    Outcome,
    Row,
)

_INDEX_KEYS = {
    "by-time": ("accepted", "received_at"),
    "by-state": ("attention", "finished_at"),
}


class FakeTable:
    """A :class:`lambdas.shared.table.Table` of dictionaries, made to be asserted on.

    ``rows`` is what is stored. Each error of ``failures`` is raised by one call
    instead of doing it; each of ``lost_answers`` is raised by one call after it
    was done, as when the answer is lost on the way.
    """

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], dict[str, Any]] = {}
        self.failures: list[Exception] = []
        self.lost_answers: list[Exception] = []
        self.calls: list[str] = []
        self._lock = threading.RLock()

    def put(self, row: Row, *, when: Condition | None = None) -> bool:
        with self._lock:
            self._called("put")
            key = (row["pk"], row["sk"])
            if when is not None and not holds(when, self.rows.get(key, {})):
                return False
            self.rows[key] = kept(row)
            self._answered()
            return True

    def update(self, pk: str, sk: str, change: Change, *, when: Condition) -> Outcome:
        with self._lock:
            self._called("update")
            old = self.rows.get((pk, sk), {})
            if not holds(when, old):
                return Outcome(False, copy.deepcopy(old))
            row = {"pk": pk, "sk": sk, **old, **kept(change.set)}
            for name, more in change.add.items():
                row[name] = old.get(name, 0) + more
            for name in change.remove:
                row.pop(name, None)
            self.rows[pk, sk] = row
            self._answered()
            return Outcome(True, copy.deepcopy(row))

    def get(self, pk: str, sk: str) -> Row | None:
        with self._lock:
            self._called("get")
            return copy.deepcopy(self.rows.get((pk, sk)))

    def query(self, pk: str, prefix: str = "") -> Iterator[Row]:
        with self._lock:
            self._called("query")
            found = [k for k in self.rows if k[0] == pk and k[1].startswith(prefix)]
            return iter([copy.deepcopy(self.rows[k]) for k in sorted(found)])

    def index(self, index: str, partition: str, low: Any, high: Any) -> Iterator[Row]:
        with self._lock:
            self._called("index")
            hash_key, range_key = _INDEX_KEYS[index]
            found = [
                {name: row[name] for name in ("pk", "sk", hash_key, range_key)}
                for row in self.rows.values()
                if row.get(hash_key) == partition and low <= row[range_key] < high
            ]
            return iter(sorted(found, key=lambda row: row[range_key]))

    def delete(self, pk: str, sk: str) -> None:
        with self._lock:
            self._called("delete")
            self.rows.pop((pk, sk), None)
            self._answered()

    def _called(self, operation: str) -> None:
        self.calls.append(operation)
        if self.failures:
            raise self.failures.pop(0)

    def _answered(self) -> None:
        if self.lost_answers:
            raise self.lost_answers.pop(0)


class FakeBodies(dict[str, bytes]):
    """A :class:`lambdas.shared.ledger.Bodies`; ``failures`` as in FakeTable."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[Exception] = []

    def put(self, key: str, data: bytes) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self[key] = data


class FakeLedger(TableLedger):
    """The real ledger over a table and bodies in memory; both are public."""

    def __init__(self, *, ledger_days: int = 45) -> None:
        self.table = FakeTable()
        self.bodies = FakeBodies()
        super().__init__(self.table, self.bodies, ledger_days=ledger_days)

    def __contains__(self, event_id: str) -> bool:
        return (event_id, "event") in self.table.rows

    def __len__(self) -> int:
        return sum(sk == "event" for _, sk in self.table.rows)


def kept(row: Row) -> dict[str, Any]:
    """Return ``row`` as DynamoDB gives it back; what it does not take raises."""
    return {name: _kept(value) for name, value in row.items()}


def _kept(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case bool() | int() | bytes():
            return value
        case Mapping():
            return kept(value)
        case _:
            raise TypeError(f"the ledger holds no {type(value).__name__}")


def holds(condition: Condition, row: Row) -> bool:
    """Evaluate ``condition`` as DynamoDB does: an absent attribute compares false."""
    match condition:
        case Absent(name):
            return name not in row
        case Is(name, value):
            return name in row and bool(row[name] == value)
        case IsNot(name, value):
            return name not in row or bool(row[name] != value)
        case Below(name, value):
            return name in row and bool(row[name] < value)
        case OneOf(name, values):
            return name in row and row[name] in values
        case Every(parts):
            return all(holds(part, row) for part in parts)
        case Any_(parts):
            return any(holds(part, row) for part in parts)
        case _:
            raise TypeError(f"no such condition: {condition!r}")
