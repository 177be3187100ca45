"""The page on calendars: its fleet, and its agent as it is, on loopback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agents import month_end_close
from lambdas.planner.occurrence import ONCE, Occurrence
from lambdas.planner.rules import Rules
from lambdas.planner.task import Task
from lambdas.shared import clock
from lambdas.shared.fleet import Calendar, parse
from lambdas.shared.google import read_key
from lambdas.shared.outside import WORLD_URL_VARIABLE
from lambdas.worker.claim import Verdict
from tests.fakes.services import serving
from tests.fakes.worker import TRIAGE, Rig
from tests.fakes.world import TOKEN, World

PAGE = Path(__file__).parents[3] / "docs/howto/plan-from-a-calendar.md"
CHANNEL = "C024BE91L"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    world = World()
    with serving(world):
        monkeypatch.setenv(WORLD_URL_VARIABLE, world.url)
        monkeypatch.setenv("OPEN_ITEMS_URL", "https://shop.example/open-items")
        monkeypatch.setenv("CLOSE_CHANNEL", CHANNEL)
        yield world


def of_page() -> Calendar:
    """Return the calendar that the page's first step writes into fleet.toml."""
    found = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert found is not None
    return parse(found[1]).calendars["finance"]


def test_page_s_calendar_of_google_s_and_its_key_are_what_is_read() -> None:
    text = PAGE.read_text(encoding="utf-8")
    fleet = parse("\n".join(re.findall(r"```toml\n(.*?)```", text, re.S)))
    (consent,) = re.findall(r"```json\n\s*(\{\"type.*?\})\n", text)

    assert fleet.calendars["board"].feed == "google"
    assert read_key("k", consent).kind == "authorized_user"


def planned() -> Task:
    """Return the task of a month-end close that is due in December."""
    due = datetime(2026, 12, 28, 22, tzinfo=UTC)
    entry = Occurrence(
        uid="a", name=ONCE, start=due, end=due, title="Month-end <!channel>"
    )
    (wanted,) = Rules(of_page(), UTC).wanted(entry)
    return Task.of("finance", wanted)


def deliver(news: dict[str, Any] | None = None, times: int = 1) -> list[Verdict]:
    spec = replace(TRIAGE, secrets=("bellhop/slack-token",))
    rig = Rig(month_end_close.run, spec=spec, secret_of=lambda _: TOKEN)
    # The effects' own deadline is by the real clock: they wait for real answers.
    rig.clock.instant = clock.now()
    event = planned().event(rig.clock.instant)
    rig.ledger.accept(event)
    if news is not None:
        rig.ledger.tell(event.id, news)
    return [rig.deliver(f"m{n}", event_id=event.id) for n in range(times)]


def test_fleet_of_the_page_begins_two_business_days_before() -> None:
    """Of a Monday after Christmas: the Wednesday before it."""
    assert planned().begin_at == datetime(2026, 12, 23, 22, tzinfo=UTC)
    assert of_page().rules[0].buffer_hours == 48


def test_agent_gathers_and_tells_once_and_repeats_no_title(world: World) -> None:
    verdicts = deliver(times=3)

    assert verdicts == [Verdict.SUCCEEDED, *[Verdict.ACKNOWLEDGED] * 2]
    assert world.shop.orders == [{"month": "2026-12"}]
    (text,) = told(world)
    assert "due at 2026-12-28T22:00:00Z" in text
    assert "channel" not in text


def test_agent_tells_the_deadline_that_the_calendar_says_now(world: World) -> None:
    deliver({"deadline": "2026-12-30T22:00:00Z", "cancelled": False})

    (text,) = told(world)
    assert "due at 2026-12-30T22:00:00Z" in text


def test_agent_tells_nobody_of_a_close_that_was_cancelled(world: World) -> None:
    assert deliver({"cancelled": True}) == [Verdict.SUCCEEDED]

    assert told(world) == []


def told(world: World) -> list[str]:
    return [str(each["text"]) for each in world.slack.messages]
