"""EventBridge event patterns, judged here as EventBridge judges them.

EventBridge tells nobody that an event matched no rule, and the local stack must
agree with the real one; so the fleet evaluates its own patterns. A pattern is
flattened to dotted paths, as is the event; a match is one value for every path,
all of them from the same elements of the arrays on the way.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# Numbers outside this range are compared by EventBridge as text, never as numbers.
LARGEST_NUMBER = 5_000_000_000

# Which element of which array a value came from.
_Membership = frozenset[tuple[int, int]]
_Rules = list[Any]


def matches(pattern: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    """Whether ``event`` (the whole envelope) satisfies ``pattern``.

    ``pattern`` must be one in which ``problems`` finds none.
    """
    return judge(event)(pattern)


def judge(event: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    """Return what tells of any pattern whether ``event`` satisfies it.

    To judge one event by many patterns: it is taken apart only once.
    """
    fields: dict[str, list[tuple[Any, _Membership]]] = {}
    for path, value, membership in _leaves(event, "", frozenset(), itertools.count()):
        fields.setdefault(path, []).append((value, membership))

    def satisfies(pattern: Mapping[str, Any]) -> bool:
        return any(_agrees(paths, fields) for paths in alternatives(pattern, ""))

    return satisfies


def alternatives(
    pattern: Mapping[str, Any], prefix: str
) -> Iterator[dict[str, _Rules]]:
    """Yield the pattern without ``$or``, as paths and rules, once per alternative."""
    parts: list[Any] = []
    for key, value in pattern.items():
        path = f"{prefix}{key}"
        if key == "$or":
            parts.append([each for way in value for each in alternatives(way, prefix)])
        elif isinstance(value, Mapping):
            parts.append(alternatives(value, f"{path}."))
        else:
            parts.append([{path: value}])
    for chosen in itertools.product(*parts):
        yield {path: rules for part in chosen for path, rules in part.items()}


def _agrees(
    paths: Mapping[str, _Rules], fields: Mapping[str, list[tuple[Any, _Membership]]]
) -> bool:
    states: set[_Membership] = {frozenset()}
    # In EventBridge's own order, which "exists" depends on inside of arrays; only the
    # outermost fields come first: "source" settles most of what does not match.
    for path in sorted(paths, key=lambda path: ("." in path, path)):
        rules, found = paths[path], fields.get(path, [])
        states = {after for before in states for after in _steps(rules, found, before)}
        if not states:
            return False
    return True


def _steps(
    rules: _Rules, fields: list[tuple[Any, _Membership]], before: _Membership
) -> Iterator[_Membership]:
    """Yield the array elements chosen after one more path agrees."""
    consistent = []
    for value, membership in fields:
        together = before | membership
        # Two elements of one array cannot both be the one that matches.
        if len(together) == len({array for array, _ in together}):
            consistent.append((value, together))
    if not consistent and any(rule == {"exists": False} for rule in rules):
        yield before
    for value, together in consistent:
        if any(_accepts(rule, value) for rule in rules):
            yield together


def _leaves(
    value: Any, path: str, membership: _Membership, arrays: Iterator[int]
) -> Iterator[tuple[str, Any, _Membership]]:
    if isinstance(value, Mapping):
        for key, below in value.items():
            deeper = f"{path}.{key}" if path else key
            yield from _leaves(below, deeper, membership, arrays)
    elif isinstance(value, list):
        array = next(arrays)
        for index, item in enumerate(value):
            is_plain = not isinstance(item, Mapping | list)
            within = membership if is_plain else membership | {(array, index)}
            yield from _leaves(item, path, within, arrays)
    else:
        yield path, value, membership


def _accepts(rule: Any, value: Any) -> bool:
    if not isinstance(rule, Mapping):
        return _equals(rule, value)
    ((operator, operand),) = rule.items()
    return _OPERATORS[operator](operand, value)


def _equals(wanted: Any, value: Any) -> bool:
    # JSON's true is not 1, as Python's is.
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    return bool(wanted == value)


def _exists(operand: Any, value: Any) -> bool:  # noqa: ARG001  a leaf is there
    return bool(operand)


def as_list(operand: Any) -> list[Any]:
    return operand if isinstance(operand, list) else [operand]


def _folded(operand: Any, value: str) -> tuple[str, str]:
    if isinstance(operand, Mapping):
        return operand["equals-ignore-case"].lower(), value.lower()
    return operand, value


def _prefix(operand: Any, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    start, text = _folded(operand, value)
    return text.startswith(start)


def _suffix(operand: Any, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    end, text = _folded(operand, value)
    return text.endswith(end)


def _ignore_case(operand: Any, value: Any) -> bool:
    return isinstance(value, str) and value.lower() == operand.lower()


def _anything_but(operand: Any, value: Any) -> bool:
    if isinstance(operand, Mapping):
        ((operator, inner),) = operand.items()
        accepts = _OPERATORS[operator]
        return not any(accepts(each, value) for each in as_list(inner))
    return not any(_equals(each, value) for each in as_list(operand))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": lambda value, limit: value == limit,
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
}


def _numeric(operand: Any, value: Any) -> bool:
    if not is_number(value) or abs(value) > LARGEST_NUMBER:
        return False
    pairs = zip(operand[::2], operand[1::2], strict=True)
    return all(COMPARE[sign](value, limit) for sign, limit in pairs)


def _cidr(operand: Any, value: Any) -> bool:
    # Imported here: few patterns need it, and it is slow to import.
    import ipaddress

    if not isinstance(value, str):
        return False
    try:
        return ipaddress.ip_address(value) in ipaddress.ip_network(operand, False)
    except ValueError:
        return False


WILDCARD_PIECE = re.compile(r"\\[\\*]|\*|[^\\*]+")


def _wildcard(operand: Any, value: Any) -> bool:
    """Judge without a regular expression: no text makes it slow."""
    if not isinstance(value, str):
        return False
    parts = [""]
    for piece in WILDCARD_PIECE.findall(operand):
        if piece == "*":
            parts.append("")
        else:
            parts[-1] += piece[1:] if piece[0] == "\\" else piece
    first, *middle = parts
    if not middle:
        return value == first
    last = middle.pop()
    if len(value) < len(first) + len(last):
        return False
    if not (value.startswith(first) and value.endswith(last)):
        return False
    at, end = len(first), len(value) - len(last)
    for part in middle:
        found = value.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "prefix": _prefix,
    "suffix": _suffix,
    "anything-but": _anything_but,
    "equals-ignore-case": _ignore_case,
    "wildcard": _wildcard,
    "numeric": _numeric,
    "cidr": _cidr,
    "exists": _exists,
}
