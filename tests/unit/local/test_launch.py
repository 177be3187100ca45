"""What is added to the engine from outside."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local.launch import keep_output, keep_what_expired, split_names


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


class Scoped:
    """As the engine keeps settings: its reaper asks for all, everybody else by name."""

    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data: dict[str, dict[str, str]] = {}

    def all_items(self) -> list[tuple[str, dict[str, str]]]:
        return list(self._data.items())

    def __getitem__(self, name: str) -> dict[str, str]:
        return self._data[name]


def test_nothing_expires_by_the_real_time_and_tables_still_say_that_rows_do() -> None:
    settings = Scoped()
    settings._data["ledger"] = {"TimeToLiveStatus": "ENABLED"}
    engine = SimpleNamespace(_ttl_settings=settings)

    keep_what_expired(engine)

    assert not list(engine._ttl_settings.all_items())
    assert engine._ttl_settings["ledger"] == {"TimeToLiveStatus": "ENABLED"}


def test_what_a_function_writes_is_kept(tmp_path: Path) -> None:
    logs = iter(["first\nsecond\n", "", "third"])
    engine = SimpleNamespace(
        _execute_function_warm=lambda *_: {"body": 1, "log": next(logs)}
    )

    keep_output(engine, tmp_path / "functions.log")
    answers = [engine._execute_function_warm({}, {}, "id") for _ in range(3)]

    kept = (tmp_path / "functions.log").read_text(encoding="utf-8")
    assert kept == "first\nsecond\nthird\n"
    assert [answer["body"] for answer in answers] == [1, 1, 1]
