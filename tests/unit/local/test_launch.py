"""What is added to the engine from outside."""

from __future__ import annotations

from typing import Any

import pytest

from local.launch import split_names


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ({"a.b": 1}, {"a": {"b": 1}}),
        ({"a": {"b": 1}, "a.c": 2}, {"a": {"b": 1, "c": 2}}),
        ({"a": 1, "a.c": 2}, {"a": 1}),
        ({"a": [{"b.c": 1}, 2]}, {"a": [{"b": {"c": 1}}, 2]}),
        ("a.b", "a.b"),
    ],
)
def test_dotted_name_is_a_path_to_a_pattern(value: Any, seen: Any) -> None:
    assert split_names(value) == seen
