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
_LARGEST_NUMBER = 5_000_000_000
# PutRule refuses a pattern whose $or alternatives multiply to more.
_MOST_COMBINATIONS = 1_000
# EventBridge weighs a wildcard by how many of its stars wait for the same
# character at once, and publishes no figure; five is refused, four is not.
_MOST_STARS_BEFORE_ONE_CHARACTER = 4

# Which element of which array a value came from.
_Membership = frozenset[tuple[int, int]]
_Rules = list[Any]


def matches(pattern: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
    """Whether ``event`` (the whole envelope) satisfies ``pattern``.

    ``pattern`` must be one in which :func:`problems` finds none.
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
        return any(_agrees(paths, fields) for paths in _alternatives(pattern, ""))

    return satisfies


def problems(pattern: Mapping[str, Any]) -> list[str]:
    """Return why EventBridge would refuse ``pattern``: one line for each reason."""
    if not pattern:
        return ["an empty pattern; want at least one field"]
    found = list(_faults(pattern, ""))
    if found:
        return found
    several = itertools.islice(_alternatives(pattern, ""), _MOST_COMBINATIONS + 1)
    if sum(1 for _ in several) > _MOST_COMBINATIONS:
        return [f"its $or multiply to more than {_MOST_COMBINATIONS} combinations"]
    return []


def _alternatives(
    pattern: Mapping[str, Any], prefix: str
) -> Iterator[dict[str, _Rules]]:
    """Yield the pattern without ``$or``, as paths and rules, once per alternative."""
    parts: list[Any] = []
    for key, value in pattern.items():
        path = f"{prefix}{key}"
        if key == "$or":
            parts.append([each for way in value for each in _alternatives(way, prefix)])
        elif isinstance(value, Mapping):
            parts.append(_alternatives(value, f"{path}."))
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
    return _OPERATORS[operator][0](operand, value)


def _equals(wanted: Any, value: Any) -> bool:
    # JSON's true is not 1, as Python's is.
    if isinstance(wanted, bool) or isinstance(value, bool):
        return wanted is value
    return bool(wanted == value)


def _exists(operand: Any, value: Any) -> bool:  # noqa: ARG001  a leaf is there
    return bool(operand)


def _as_list(operand: Any) -> list[Any]:
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
        judge = _OPERATORS[operator][0]
        return not any(judge(each, value) for each in _as_list(inner))
    return not any(_equals(each, value) for each in _as_list(operand))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": lambda value, limit: value == limit,
    "<": lambda value, limit: value < limit,
    "<=": lambda value, limit: value <= limit,
    ">": lambda value, limit: value > limit,
    ">=": lambda value, limit: value >= limit,
}


def _numeric(operand: Any, value: Any) -> bool:
    if not _is_number(value) or abs(value) > _LARGEST_NUMBER:
        return False
    pairs = zip(operand[::2], operand[1::2], strict=True)
    return all(_COMPARE[sign](value, limit) for sign, limit in pairs)


def _cidr(operand: Any, value: Any) -> bool:
    # Imported here: few patterns need it, and it is slow to import.
    import ipaddress

    if not isinstance(value, str):
        return False
    try:
        return ipaddress.ip_address(value) in ipaddress.ip_network(operand, False)
    except ValueError:
        return False


_WILDCARD_PIECE = re.compile(r"\\[\\*]|\*|[^\\*]+")


def _wildcard(operand: Any, value: Any) -> bool:
    """Judge without a regular expression: no text makes it slow."""
    if not isinstance(value, str):
        return False
    parts = [""]
    for piece in _WILDCARD_PIECE.findall(operand):
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
        yield from (
            f"{operator}: {fault}" for fault in _OPERATORS[operator][1](operand)
        )


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
    values = _as_list(operand)
    are_texts = all(isinstance(value, str) for value in values)
    if not values or not (are_texts or all(_is_number(value) for value in values)):
        yield f"want texts or numbers, not both, got {operand!r}"


def _anything_but_rule_faults(operand: Mapping[str, Any]) -> Iterator[str]:
    known = ("prefix", "suffix", "equals-ignore-case", "wildcard")
    operator = next(iter(operand), None)
    if len(operand) != 1 or operator not in known:
        yield f"want one of {', '.join(known)}, got {dict(operand)!r}"
        return
    values = _as_list(operand[operator])
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
    first = (">", ">=") if is_range else tuple(_COMPARE)
    if signs[0] not in first or (is_range and signs[1] not in ("<", "<=")):
        yield want
    elif not all(_is_number(n) and abs(n) <= _LARGEST_NUMBER for n in limits):
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
    pieces = _WILDCARD_PIECE.findall(operand)
    if "".join(pieces) != operand:
        yield f"want \\* or \\\\ where a backslash stands, got {operand!r}"
    pairs = list(itertools.pairwise(pieces))
    if ("*", "*") in pairs:
        yield f"want no two stars side by side, got {operand!r}"
    waiting = [after[0] for star, after in pairs if star == "*"]
    if any(waiting.count(c) > _MOST_STARS_BEFORE_ONE_CHARACTER for c in waiting):
        yield f"too complex: want fewer stars before the same text, got {operand!r}"


_OPERATORS: dict[
    str, tuple[Callable[[Any, Any], bool], Callable[[Any], Iterator[str]]]
] = {
    "prefix": (_prefix, _end_faults),
    "suffix": (_suffix, _end_faults),
    "anything-but": (_anything_but, _anything_but_faults),
    "equals-ignore-case": (_ignore_case, _text_faults),
    "wildcard": (_wildcard, _wildcard_faults),
    "numeric": (_numeric, _numeric_faults),
    "cidr": (_cidr, _cidr_faults),
    "exists": (_exists, _exists_faults),
}
