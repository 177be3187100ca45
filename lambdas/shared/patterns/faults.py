"""Patterns that EventBridge would refuse, told before anything is deployed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lambdas.shared.patterns.match import (
    COMPARE,
    LARGEST_NUMBER,
    WILDCARD_PIECE,
    alternatives,
    as_list,
    is_number,
)

# PutRule refuses a pattern whose $or alternatives multiply to more.
_MOST_COMBINATIONS = 1_000
# EventBridge weighs a wildcard by how many of its stars wait for the same
# character at once, and publishes no figure; five is refused, four is not.
_MOST_STARS_BEFORE_ONE_CHARACTER = 4


def problems(pattern: Mapping[str, Any]) -> list[str]:
    """Return why EventBridge would refuse ``pattern``: one line for each reason."""
    if not pattern:
        return ["an empty pattern; want at least one field"]
    found = list(_faults(pattern, ""))
    if found:
        return found
    several = itertools.islice(alternatives(pattern, ""), _MOST_COMBINATIONS + 1)
    if sum(1 for _ in several) > _MOST_COMBINATIONS:
        return [f"its $or multiply to more than {_MOST_COMBINATIONS} combinations"]
    return []


def _faults(pattern: Mapping[str, Any], prefix: str) -> Iterator[str]:
    seen: set[str] = set()
    for key, value in pattern.items():
        path = f"{prefix}{key}"
        if key == "$or":
            yield from _or_faults(value, prefix)
        elif isinstance(value, Mapping):
            if not value:
                yield f"{path}: an empty object; want fields or a list of values"
            yield from _faults(value, f"{path}.")
        elif not isinstance(value, list) or not value:
            yield f"{path}: want a list of values, got {value!r}"
        else:
            for rule in value:
                yield from (f"{path}: {fault}" for fault in _rule_faults(rule))
        for below in _paths(key, value):
            if below in seen:
                yield f"{prefix}{below}: named twice; want one list for it"
            seen.add(below)


def _paths(key: str, value: Any) -> Iterator[str]:
    """Yield the dotted paths of one entry, to find those spelled in two ways."""
    if key == "$or":
        return
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from (f"{key}.{path}" for path in _paths(name, below))
    else:
        yield key


def _or_faults(ways: Any, prefix: str) -> Iterator[str]:
    path = f"{prefix}$or"
    if not isinstance(ways, list) or len(ways) < 2:
        yield f"{path}: want a list of two patterns or more, got {ways!r}"
        return
    for way in ways:
        if not isinstance(way, Mapping) or not way:
            yield f"{path}: want patterns in it, got {way!r}"
        else:
            yield from _faults(way, prefix)


def _rule_faults(rule: Any) -> Iterator[str]:
    if isinstance(rule, list) or not _is_json(rule):
        yield f"want plain values or rules like {{prefix = ...}}, got {rule!r}"
    elif isinstance(rule, Mapping):
        if len(rule) != 1:
            yield f"want one rule in each table, got {dict(rule)!r}"
            return
        ((operator, operand),) = rule.items()
        if operator not in _OPERATORS:
            known = ", ".join(_OPERATORS)
            yield f"no rule {operator!r}; want one of {known}"
            return
        yield from (f"{operator}: {fault}" for fault in _OPERATORS[operator](operand))


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float | Mapping)


def _exists_faults(operand: Any) -> Iterator[str]:
    if not isinstance(operand, bool):
        yield f"want true or false, got {operand!r}"


def _text_faults(operand: Any) -> Iterator[str]:
    if not isinstance(operand, str):
        yield f"want text, got {operand!r}"


def _end_faults(operand: Any) -> Iterator[str]:
    if isinstance(operand, Mapping) and list(operand) == ["equals-ignore-case"]:
        operand = operand["equals-ignore-case"]
    yield from _text_faults(operand)


def _anything_but_faults(operand: Any) -> Iterator[str]:
    if isinstance(operand, Mapping):
        yield from _anything_but_rule_faults(operand)
        return
    values = as_list(operand)
    are_texts = all(isinstance(value, str) for value in values)
    if not values or not (are_texts or all(is_number(value) for value in values)):
        yield f"want texts or numbers, not both, got {operand!r}"


def _anything_but_rule_faults(operand: Mapping[str, Any]) -> Iterator[str]:
    known = ("prefix", "suffix", "equals-ignore-case", "wildcard")
    operator = next(iter(operand), None)
    if len(operand) != 1 or operator not in known:
        yield f"want one of {', '.join(known)}, got {dict(operand)!r}"
        return
    values = as_list(operand[operator])
    if not values:
        yield f"{operator}: want at least one text"
    for value in values:
        if not isinstance(value, str) or (operator in known[:2] and not value):
            yield f"{operator}: want text, got {value!r}"
        elif operator == "wildcard":
            yield from _wildcard_faults(value)


def _numeric_faults(operand: Any) -> Iterator[str]:
    want = f"want ['=', n], ['<', n] or ['>', n, '<', m] and the like, got {operand!r}"
    if not isinstance(operand, list) or len(operand) not in (2, 4):
        yield want
        return
    signs, limits = operand[::2], operand[1::2]
    is_range = len(signs) == 2
    first = (">", ">=") if is_range else tuple(COMPARE)
    if signs[0] not in first or (is_range and signs[1] not in ("<", "<=")):
        yield want
    elif not all(is_number(n) and abs(n) <= LARGEST_NUMBER for n in limits):
        yield f"want numbers from -5e9 to 5e9, got {operand!r}"
    elif is_range and limits[0] >= limits[1]:
        yield f"want the lower limit first, got {operand!r}"


def _cidr_faults(operand: Any) -> Iterator[str]:
    import ipaddress

    try:
        if not isinstance(operand, str) or "/" not in operand:
            raise ValueError  # noqa: TRY301  one answer for every fault
        ipaddress.ip_network(operand, strict=False)
    except ValueError:
        yield f"want a network like '10.0.0.0/24', got {operand!r}"


def _wildcard_faults(operand: Any) -> Iterator[str]:
    if not isinstance(operand, str):
        yield f"want text, got {operand!r}"
        return
    pieces = WILDCARD_PIECE.findall(operand)
    if "".join(pieces) != operand:
        yield f"want \\* or \\\\ where a backslash stands, got {operand!r}"
    pairs = list(itertools.pairwise(pieces))
    if ("*", "*") in pairs:
        yield f"want no two stars side by side, got {operand!r}"
    waiting = [after[0] for star, after in pairs if star == "*"]
    if any(waiting.count(c) > _MOST_STARS_BEFORE_ONE_CHARACTER for c in waiting):
        yield f"too complex: want fewer stars before the same text, got {operand!r}"


_OPERATORS: dict[str, Callable[[Any], Iterator[str]]] = {
    "prefix": _end_faults,
    "suffix": _end_faults,
    "anything-but": _anything_but_faults,
    "equals-ignore-case": _text_faults,
    "wildcard": _wildcard_faults,
    "numeric": _numeric_faults,
    "cidr": _cidr_faults,
    "exists": _exists_faults,
}
