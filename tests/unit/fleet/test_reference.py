"""The reference of fleet.toml names every key that there is."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from lambdas.shared.fleet import (
    Agent,
    Calendar,
    CalendarRule,
    Digest,
    Feed,
    Fleet,
    Generic,
    Schedule,
    Source,
)

_REFERENCE = Path(__file__).resolve().parents[3] / "docs/reference/fleet.md"
# What a table is called is not a key in it; these two are the sender's affair.
_NO_KEYS = {"name", "generic", "options", "sources", "agents", "schedules"} | {
    "calendars",
    "digest",
    "feeds",
}


@pytest.mark.parametrize(
    "table",
    [Source, Generic, Agent, Schedule, Calendar, CalendarRule, Digest, Feed, Fleet],
    ids=lambda table: table.__name__,
)
def test_every_key_is_explained(table: Any) -> None:
    text = _REFERENCE.read_text(encoding="utf-8")
    keys = {field.name for field in fields(table)} - _NO_KEYS

    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []
