"""DynamoDB's condition and update expressions, as far as they are sent here."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

Item = Mapping[str, Mapping[str, Any]]
Words = Mapping[str, Any]
Test = Callable[[Item, Words], bool]

_TOKEN = re.compile(r"<>|<=|>=|[=<>(),]|[#:]?\w+")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def holds(request: Mapping[str, Any], item: Item) -> bool:
    """Say whether the request's condition is true of ``item``."""
    text = request.get("ConditionExpression")
    return text is None or _condition(text)(item, _words(request))


def updated(request: Mapping[str, Any], item: Item) -> dict[str, Any]:
    """Return what the request's update makes of ``item``."""
    words = _words(request)
    after = {**item, **request["Key"]}
    for word, changes in _clauses(request["UpdateExpression"]):
        for name, value in changes:
            key = words.get(name, name)
            if word == "SET":
                after[key] = words[value]
            elif word == "ADD":
                was = Decimal(after.get(key, {"N": "0"})["N"])
                after[key] = {"N": str(was + Decimal(words[value]["N"]))}
            else:
                after.pop(key, None)
    return after


def _words(request: Mapping[str, Any]) -> Words:
    names = request.get("ExpressionAttributeNames") or {}
    return {**names, **(request.get("ExpressionAttributeValues") or {})}


@functools.cache
def _clauses(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    parts = re.split(r"\b(SET|ADD|REMOVE)\b", text)[1:]
    clauses = []
    for word, body in zip(parts[::2], parts[1::2], strict=True):
        changes = [re.split(r"[\s=]+", each.strip()) for each in body.split(",")]
        clauses.append((word, [(c[0], c[1] if len(c) > 1 else "") for c in changes]))
    return clauses


@functools.cache
def _condition(text: str) -> Test:
    tokens = _TOKEN.findall(text)
    test = _either(tokens)
    if tokens:
        raise ValueError(f"not understood: {' '.join(tokens)}")
    return test


def _either(tokens: list[str]) -> Test:
    tests = [_both(tokens)]
    while tokens[:1] == ["OR"]:
        tokens.pop(0)
        tests.append(_both(tokens))
    return lambda item, words: any(test(item, words) for test in tests)


def _both(tokens: list[str]) -> Test:
    tests = [_one(tokens)]
    while tokens[:1] == ["AND"]:
        tokens.pop(0)
        tests.append(_one(tokens))
    return lambda item, words: all(test(item, words) for test in tests)


def _one(tokens: list[str]) -> Test:
    name = tokens.pop(0)
    if name == "(":
        inner = _either(tokens)
        tokens.pop(0)
        return inner
    if name in {"attribute_exists", "attribute_not_exists"}:
        _, operand, _ = (tokens.pop(0) for _ in range(3))
        wanted = name == "attribute_exists"
        return lambda item, words: (words.get(operand, operand) in item) is wanted
    operator = tokens.pop(0)
    if operator == "IN":
        return _one_of(name, tokens)
    compare, other = _COMPARE[operator], tokens.pop(0)

    def test(item: Item, words: Words) -> bool:
        value = item.get(words.get(name, name))
        # An attribute that is not there differs from everything, and is not less.
        if value is None:
            return operator == "<>"
        return compare(_plain(value), _plain(words[other]))

    return test


def _one_of(name: str, tokens: list[str]) -> Test:
    listed = []
    while (token := tokens.pop(0)) != ")":
        if token.startswith(":"):
            listed.append(token)
    return lambda item, words: (
        item.get(words.get(name, name)) in [words[each] for each in listed]
    )


def _plain(value: Mapping[str, Any]) -> Any:
    ((kind, inner),) = value.items()
    return Decimal(inner) if kind == "N" else inner
