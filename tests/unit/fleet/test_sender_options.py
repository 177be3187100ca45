"""The keys that one sender alone has: of the form it wants, or said when it is read."""

from __future__ import annotations

from typing import Any

import pytest

from lambdas.shared import senders
from lambdas.shared.fleet import FleetError, parse

OPTIONAL = [
    (name, key)
    for name in senders.names()
    for key in senders.traits(name).options
    if key not in senders.traits(name).required
]


def problems(sender: str, line: str) -> list[str]:
    text = f"[sources.door]\nsender = '{sender}'\nidentity = 'body'\n{line}"
    try:
        parse(text, find_traits=senders.traits)
    except FleetError as error:
        told = (problem.removeprefix("fleet.toml: ") for problem in error.problems)
        return [problem for problem in told if "public_url" not in problem]
    return []


def test_there_are_such_keys() -> None:
    assert ("datadog", "header") in OPTIONAL
    assert ("standard-webhooks", "public_key") in OPTIONAL
    assert ("meta", "verify_token") in OPTIONAL


@pytest.mark.parametrize(("sender", "key"), OPTIONAL)
@pytest.mark.parametrize("value", ["3", "[]", "{}", "''", "['a']", "1.5"])
def test_key_of_another_form_is_said_with_its_path(
    sender: str, key: str, value: str
) -> None:
    (problem,) = problems(sender, f"{key} = {value}")

    assert problem.startswith(f"sources.door.{key}: want ")


@pytest.mark.parametrize(
    ("sender", "key", "value"),
    [
        ("datadog", "header", "'X-Other'"),
        ("meta", "verify_token", "'a word'"),
        ("standard-webhooks", "public_key", "true"),
    ],
)
def test_key_of_its_form_is_taken(sender: str, key: str, value: Any) -> None:
    assert problems(sender, f"{key} = {value}") == []


def test_header_is_a_headers_name() -> None:
    assert problems("datadog", "header = 'two words'") == [
        "sources.door.header: want a header's name, got 'two words'"
    ]
