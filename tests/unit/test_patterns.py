"""EventBridge patterns: ours and theirs agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.shared.patterns import matches, problems
from tests import real_data

_FOLDER = "payloads/eventbridge-patterns"


def _cases(name: str) -> list[Any]:
    if real_data.ROOT is None:
        return []
    text = (real_data.ROOT / _FOLDER / name).read_text(encoding="utf-8")
    cases: list[Any] = json.loads(text)
    return cases


def _verdict(pattern: Any, event: Any) -> str:
    if problems(pattern):
        return "exception"
    return "match" if matches(pattern, event) else "no_match"


@pytest.mark.real_data
@pytest.mark.parametrize(
    "case", _cases("localstack_cases.json"), ids=lambda c: c["name"]
)
def test_verdict_of_every_known_case(case: dict[str, Any]) -> None:
    real_data.used("payloads")

    assert _verdict(case["pattern"], case["event"]) == case["expected"]


# The other file gives no verdicts; these follow from what an array of objects means.
_NO_MATCH = (
    "mismatch",
    "one missing",
    "objarray: split",
    "split 3 ways",
    "exact split",
    "prefix split",
    "suffix match split",
    "inner split",
    "outer split",
    "split leaf",
    "scalar fail",
    "no match",
    "exists-false: present",
    "empty object",
    "empty array",
    "empty prim array",
    "obj-array split",
)


@pytest.mark.real_data
@pytest.mark.parametrize(
    "case", _cases("resources__correctness-cases.json"), ids=lambda c: c["name"]
)
def test_one_element_of_an_array_answers_for_all_fields(case: dict[str, Any]) -> None:
    real_data.used("payloads")
    expected = "no_match" if any(w in case["name"] for w in _NO_MATCH) else "match"

    assert _verdict(case["rule"], case["event"]) == expected


@pytest.mark.parametrize(
    ("event", "rule", "expected"),
    [
        ("arrayEvent1", "arrayRule1", True),
        ("arrayEvent1", "arrayRule2", True),
        ("arrayEvent2", "arrayRule1", False),
        ("bigEvent", "bigEventRule", True),
    ],
)
def test_real_events_of_aws(
    fixtures: Path, event: str, rule: str, expected: bool
) -> None:
    def read(name: str) -> Any:
        return json.loads((fixtures / _FOLDER / f"data__{name}.json").read_text())

    assert problems(read(rule)) == []
    assert matches(read(rule), read(event)) is expected


def _on(rule: Any) -> dict[str, Any]:
    return {"detail": {"x": rule}}


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ([True], 1, False),
        ([1], True, False),
        ([True], True, True),
        ([1], 1.0, True),
        (["1"], 1, False),
        ([None], None, True),
        ([None], "", False),
        ([{"prefix": {"equals-ignore-case": "IsS"}}], "issues.opened", True),
        ([{"suffix": {"equals-ignore-case": "ED"}}], "issues.opened", True),
        ([{"prefix": "1"}], 1, False),
        ([{"anything-but": [1, 2]}], 3, True),
        ([{"anything-but": "a"}], ["a", "b"], True),
        ([{"anything-but": "a"}], ["a"], False),
        ([{"anything-but": {"wildcard": ["*.md", "*.txt"]}}], "a.md", False),
        ([{"numeric": [">=", 5, "<", 10]}], 5, True),
        ([{"numeric": [">=", 5, "<", 10]}], 10, False),
        ([{"numeric": ["=", 0.1]}], 0.1, True),
        ([{"numeric": [">", 0]}], True, False),
        ([{"numeric": [">", 0]}], 6e9, False),
        ([{"cidr": "10.0.0.1/8"}], "10.9.9.9", True),
        ([{"cidr": "10.0.0.0/8"}], "::1", False),
        ([{"cidr": "10.0.0.0/8"}], "10.0.0", False),
        ([{"wildcard": "a*"}], "a", True),
        ([{"wildcard": "a*a"}], "a", False),
        ([{"wildcard": "*b*c"}], "abcbc", True),
        ([{"wildcard": r"a\*b"}], "a*b", True),
        ([{"wildcard": r"a\*b"}], "axb", False),
        ([{"wildcard": "line*end"}], "line\nend", True),
        ([{"exists": False}], {"below": 1}, True),
        ([{"exists": True}], {"below": 1}, False),
        ([{"exists": False}], [], True),
    ],
)
def test_rule_matches_as_eventbridge_s_does(
    rule: list[Any], value: Any, expected: bool
) -> None:
    assert problems(_on(rule)) == []
    assert matches(_on(rule), {"detail": {"x": value}}) is expected


def test_either_side_of_an_or() -> None:
    pattern = {
        "source": ["s"],
        "detail": {"$or": [{"a": [1]}, {"b": [2], "$or": [{"c": [3]}, {"d": [4]}]}]},
    }

    def hears(**detail: int) -> bool:
        return matches(pattern, {"source": "s", "detail": detail})

    assert problems(pattern) == []
    assert hears(a=1)
    assert hears(b=2, d=4)
    assert not hears(b=2)
    assert not hears(a=2, c=3)


def test_what_is_missing_is_missed_in_the_element_that_was_chosen() -> None:
    pattern = {"items": {"a": [1], "b": [{"exists": False}]}}

    assert matches(pattern, {"items": [{"a": 1}, {"b": 2}]})
    assert not matches(pattern, {"items": [{"a": 1, "b": 2}, {"a": 3}]})


def test_a_dotted_key_is_a_path_on_both_sides() -> None:
    pattern = {"detail": {"facts": {"repository.full_name": ["a/b"]}}}

    flat = {"detail": {"facts": {"repository.full_name": "a/b"}}}
    nested = {"detail": {"facts": {"repository": {"full_name": "a/b"}}}}

    assert matches(pattern, flat)
    assert matches(pattern, nested)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ({}, "an empty pattern; want at least one field"),
        ({"a": {}}, "a: an empty object; want fields or a list of values"),
        ({"a": [[1]]}, "a: want plain values or rules like {prefix = ...}, got [1]"),
        (
            {"a": [{"prefix": "a", "suffix": "b"}]},
            "a: want one rule in each table, got {'prefix': 'a', 'suffix': 'b'}",
        ),
        ({"a": [{"exists": "yes"}]}, "a: exists: want true or false, got 'yes'"),
        (
            {"a": [{"numeric": [">", 5, "<", 5]}]},
            "a: numeric: want the lower limit first, got ['>', 5, '<', 5]",
        ),
        (
            {"a": [{"numeric": [">", 6e9]}]},
            "a: numeric: want numbers from -5e9 to 5e9, got ['>', 6000000000.0]",
        ),
        (
            {"a": [{"wildcard": "a**"}]},
            "a: wildcard: want no two stars side by side, got 'a**'",
        ),
        (
            {"a": [{"wildcard": "a\\b"}]},
            "a: wildcard: want \\* or \\\\ where a backslash stands, got 'a\\\\b'",
        ),
        (
            {"a": [{"anything-but": ["x", 1]}]},
            "a: anything-but: want texts or numbers, not both, got ['x', 1]",
        ),
        (
            {"$or": [{"a": [1]}]},
            "$or: want a list of two patterns or more, got [{'a': [1]}]",
        ),
        (
            {"a": {"b": [1]}, "a.b": [2]},
            "a.b: named twice; want one list for it",
        ),
        (
            {f"f{i}": {"$or": [{"a": [1]}, {"b": [1]}]} for i in range(10)},
            "its $or multiply to more than 1000 combinations",
        ),
    ],
)
def test_what_eventbridge_would_refuse(pattern: Any, problem: str) -> None:
    assert problems(pattern) == [problem]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab.", max_size=2), inner)
    ),
    max_leaves=12,
)


@given(_JSON)
def test_anything_at_all_is_judged_or_refused(value: Any) -> None:
    pattern = {"detail": value}

    if not problems(pattern):
        assert matches(pattern, {"detail": value}) in {True, False}


@given(st.text(), st.text(), st.text())
def test_a_wildcard_takes_whatever_stands_in_for_its_star(
    start: str, middle: str, end: str
) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace("*", "\\*")

    pattern = _on([{"wildcard": f"{escaped(start)}*{escaped(end)}"}])

    assert matches(pattern, {"detail": {"x": start + middle + end}})


@given(_JSON)
def test_a_pattern_made_of_an_events_own_values_matches_it(value: Any) -> None:
    def leaves(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: leaves(inner) for key, inner in value.items()}
        return [value]

    pattern = {"detail": leaves({"x": value})}

    if not problems(pattern):
        assert matches(pattern, {"detail": {"x": value}})
