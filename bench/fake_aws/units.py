"""What DynamoDB bills for a write, by its documented rules.

A put or an update costs one unit for each begun KB of the larger of the item
before and after; a refused conditional write costs as if it had been done to
the item that is there. Each secondary index is written beside that: an entry
that appears, vanishes or changes costs one unit per begun KB, one whose key
changes costs the old and the new one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Item = Mapping[str, Mapping[str, Any]]

# The ledger's indexes: partition and sort key; each holds keys only.
INDEXES = {
    "by-time": ("accepted", "received_at"),
    "by-state": ("attention", "finished_at"),
}
_KEYS = ("pk", "sk")
UNIT_BYTES = 1024


def item_bytes(item: Item) -> int:
    """Return what an item weighs: its names and values, no overhead."""
    return sum(_text_bytes(name) + _value_bytes(v) for name, v in item.items())


def write_units(before: Item, after: Item) -> int:
    """Return the units of a write that turns ``before`` into ``after``.

    Where one of the two is not there, it is empty.
    """
    larger = max(item_bytes(before), item_bytes(after))
    return _units(larger) + sum(_index_units(before, after, k) for k in INDEXES)


def refused_units(there: Item) -> int:
    """Return the units of a conditional write that was refused."""
    return _units(item_bytes(there))


def _index_units(before: Item, after: Item, index: str) -> int:
    old, new = _entry(before, index), _entry(after, index)
    if old == new:
        return 0
    return sum(_units(item_bytes(entry)) for entry in (old, new) if entry)


def _entry(item: Item, index: str) -> Item:
    keys = INDEXES[index]
    if not all(key in item for key in keys):
        return {}
    return {name: item[name] for name in (*_KEYS, *keys) if name in item}


def _units(size_bytes: int) -> int:
    return max(1, math.ceil(size_bytes / UNIT_BYTES))


def _value_bytes(value: Mapping[str, Any]) -> int:
    inner: Any
    ((kind, inner),) = value.items()
    match kind:
        case "S":
            return _text_bytes(inner)
        case "N":
            digits: str = inner.lstrip("-").replace(".", "").strip("0")
            return math.ceil(len(digits) / 2) + 1 + int(inner.startswith("-"))
        case "B":  # base64 on the wire, counted as raw bytes
            return len(inner) * 3 // 4 - str(inner[-2:]).count("=")
        case "BOOL" | "NULL":
            return 1
        case "M":
            return 3 + sum(
                1 + _text_bytes(name) + _value_bytes(each)
                for name, each in inner.items()
            )
        case "L":
            return 3 + sum(1 + _value_bytes(each) for each in inner)
        case _:
            raise ValueError(f"no rule for a value of type {kind}")


def _text_bytes(text: str) -> int:
    return len(text.encode())
