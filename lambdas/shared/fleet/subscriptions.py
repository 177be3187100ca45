"""An agent's ``on``: which events it hears, as EventBridge patterns."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from lambdas.shared import patterns
from lambdas.shared.fleet.model import (
    BUILT_IN_SOURCES,
    DEFAULT_BUS,
    OWN_BUS,
    Subscription,
    bus_source,
)
from lambdas.shared.fleet.problems import Table, did_you_mean, shown

# PutRule: an event pattern holds at most 4,096 characters.
_LONGEST_PATTERN = 4_096
# What the relay publishes, and can judge.
_ENVELOPE = ("source", "detail-type", "detail")
_DETAIL = (
    "event_id",
    "tenant",
    "received_at",
    "expires_at",
    "facts",
    "actor",
    "thread",
    "generation",
)
_ON_PURPOSE = "or say everything = true on the agent"


def read_subscriptions(
    agent: Table, sources: Collection[str], *, everything: bool
) -> tuple[Subscription, ...]:
    """Read the ``on`` list of ``agent``; ``everything`` allows what is too broad."""
    found = []
    for entry in agent.each("on"):
        if entry.has("pattern"):
            subscription = _from_pattern(entry, sources, everything=everything)
        else:
            subscription = _from_words(entry, sources, everything=everything)
        entry.close()
        if subscription is not None:
            found.append(subscription)
            _check_pattern(entry, subscription.pattern)
    return tuple(found)


def _check_pattern(entry: Table, pattern: Mapping[str, Any]) -> None:
    for problem in patterns.problems(pattern):
        entry.problem("pattern" if entry.has("pattern") else "", problem)
    length = len(json.dumps(pattern, separators=(",", ":"), default=str))
    if length > _LONGEST_PATTERN:
        entry.problem(
            "", f"the pattern is {length} characters long; want {_LONGEST_PATTERN}"
        )


def _from_words(
    entry: Table, sources: Collection[str], *, everything: bool
) -> Subscription | None:
    if entry.has("bus"):
        entry.problem("bus", "only a pattern has a bus; want it removed")
    pattern: dict[str, Any] = {}
    source = entry.text("source", want="a source's name")
    if source is not None:
        _check_known(entry, "source", source, sources)
        pattern["source"] = [bus_source(source)]
    elif everything and not entry.has("source"):
        pattern["source"] = [{"prefix": "bellhop."}]
    elif not entry.has("source"):
        entry.problem("source", f"too broad: want a source, {_ON_PURPOSE}")
    kinds = _kinds(entry, everything=everything)
    if kinds:
        pattern["detail-type"] = kinds
    facts = entry.mapping("facts")
    if facts:
        pattern["detail"] = {
            "facts": {
                name: value if isinstance(value, list) else [value]
                for name, value in facts.items()
            }
        }
    return Subscription(pattern=pattern) if "source" in pattern else None


def _check_known(entry: Table, key: str, source: str, sources: Collection[str]) -> None:
    known = {*sources, *BUILT_IN_SOURCES[:2]}
    if source not in known:
        near = did_you_mean(source, known)
        entry.problem(key, f"no source {source!r}{near}")


def _kinds(entry: Table, *, everything: bool) -> list[Any]:
    value = entry.raw("kind")
    if isinstance(value, str):
        value = [value]
    if value is None or value == []:
        if not everything:
            entry.problem("kind", f"too broad: want a kind, {_ON_PURPOSE}")
        return []
    if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
        entry.problem("kind", f"want a kind or a list of kinds, got {shown(value)}")
        return []
    if not everything and any(not kind.strip("*") for kind in value):
        entry.problem(
            "kind", f"too broad: '*' is every kind; want a kind, {_ON_PURPOSE}"
        )
    return [{"wildcard": kind} if "*" in kind else kind for kind in value]


def _from_pattern(
    entry: Table, sources: Collection[str], *, everything: bool
) -> Subscription | None:
    for key in ("source", "kind", "facts"):
        if entry.has(key):
            entry.problem(key, "stands inside the pattern; want it removed here")
    pattern = entry.mapping("pattern")
    bus = entry.text("bus", want="a bus: its name or its ARN")
    if not isinstance(entry.raw("pattern"), dict):
        return None
    if not everything:
        for key, word in (("source", "source"), ("detail-type", "kind")):
            if not _narrows(pattern.get(key)):
                entry.problem(
                    f"pattern.{key}", f"too broad: want a {word}, {_ON_PURPOSE}"
                )
    bus = bus or _bus_of(entry, pattern)
    if bus == OWN_BUS:
        _check_fields(entry, pattern, _ENVELOPE, "pattern")
        for name in _starts(pattern.get("source"), plain_only=True):
            if name.startswith("bellhop."):
                known = name.removeprefix("bellhop.")
                _check_known(entry, "pattern.source", known, sources)
    return Subscription(pattern=pattern, bus=bus)


def _check_fields(
    entry: Table, pattern: Mapping[str, Any], known: Collection[str], path: str
) -> None:
    """Refuse fields that no event of this fleet has: such a rule would be deaf."""
    for key, value in pattern.items():
        if key == "$or":
            for way in value if isinstance(value, list) else ():
                if isinstance(way, dict):
                    _check_fields(entry, way, known, path)
        elif key.partition(".")[0] not in known:
            near = "; facts are under detail.facts" if known is _DETAIL else ""
            wanted = ", ".join(known)
            entry.problem(f"{path}.{key}", f"no event has it; want {wanted}{near}")
        elif key == "detail" and isinstance(value, dict):
            _check_fields(entry, value, _DETAIL, f"{path}.detail")


def _bus_of(entry: Table, pattern: Mapping[str, Any]) -> str:
    named = _starts(pattern.get("source"))
    ours = [name for name in named if name.startswith("bellhop.")]
    if ours and len(ours) < len(named):
        entry.problem(
            "pattern.source",
            "events of this fleet and of AWS travel on different buses;"
            " want an entry for each",
        )
    return OWN_BUS if ours or not named else DEFAULT_BUS


def _narrows(values: object) -> bool:
    """Whether a field's rule leaves anything out that one would expect it to."""
    if not isinstance(values, list) or not values:
        return False
    return all(_is_narrow(value) for value in values)


def _is_narrow(value: object) -> bool:
    if not isinstance(value, dict):
        return True
    rule, operand = next(iter(value.items()), ("", ""))
    if rule in ("exists", "anything-but", ""):
        return False
    if rule == "wildcard":
        return isinstance(operand, str) and bool(operand.strip("*"))
    return operand not in ("", {"equals-ignore-case": ""})


def _starts(values: object, *, plain_only: bool = False) -> list[str]:
    """Return how each value that a ``source`` rule accepts begins, where it says so."""
    starts = []
    for value in values if isinstance(values, list) else ():
        operand = value
        if isinstance(value, dict) and not plain_only:
            operand = next(iter(value.values()), None)
            if isinstance(operand, dict):
                operand = operand.get("equals-ignore-case")
        if isinstance(operand, str):
            starts.append(operand)
    return starts
