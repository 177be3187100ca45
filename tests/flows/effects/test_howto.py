"""What ``docs/howto/write-an-effect.md`` shows does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agents.effects import (
    bus,
    github,
    google_calendar,
    http,
    linear,
    ses,
    slack,
    stripe,
)
from lambdas.shared import fleet
from lambdas.shared.errors import OutcomeUnknown, RetryLater
from tests.fakes.services import CUT_AFTER_ACTING, CUT_BEFORE_ACTING, Reply, Request
from tests.fakes.world import TOKEN, Attempt, World

PAGE = Path(__file__).resolve().parents[3] / "docs/howto/write-an-effect.md"


class Tickets:
    """A service that honours keys for tickets, and none for notes."""

    def __init__(self) -> None:
        self.tickets: dict[str, str] = {}
        self.notes: list[dict[str, str]] = []

    def __call__(self, request: Request) -> Reply:
        if request.path == "/v1/tickets":
            assert request.headers["authorization"] == f"Bearer {TOKEN}"
            key = request.headers["idempotency-key"]
            self.tickets.setdefault(key, request.document["title"])
            return Reply.of({"id": key[:4]}, 201)
        if request.method == "GET":
            return Reply.of(self.notes)
        self.notes.append(request.document)
        return Reply.of(request.document, 201)


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert found
    return found


@pytest.fixture
def shown() -> dict[str, Any]:
    """The names that the page's Python defines, read from top to bottom."""
    names: dict[str, Any] = {"__name__": "howto"}
    for block in blocks("python"):
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    return names


@pytest.fixture
def tickets(world: World, run: Attempt) -> Tickets:
    tickets = world.services["tickets.example"] = Tickets()
    run.secrets["bellhop/tickets-token"] = TOKEN
    return tickets


@pytest.mark.parametrize("fault", [CUT_BEFORE_ACTING, CUT_AFTER_ACTING])
def test_ticket_in_doubt_is_opened_once(
    fault: Any, shown: dict[str, Any], world: World, run: Attempt, tickets: Tickets
) -> None:
    world.faults.append(fault)

    with pytest.raises(OutcomeUnknown):
        run.effect(shown["open_ticket"], "It is broken")
    run.effect(shown["open_ticket"], "It is broken")

    assert list(tickets.tickets.values()) == ["It is broken"]


@pytest.mark.parametrize("fault", [CUT_BEFORE_ACTING, CUT_AFTER_ACTING])
def test_note_in_doubt_is_looked_for_and_added_once(
    fault: Any, shown: dict[str, Any], world: World, run: Attempt, tickets: Tickets
) -> None:
    world.faults.append(fault)

    with pytest.raises(OutcomeUnknown):
        run.effect(shown["add_note"], "7", "seen")
    result = run.effect(shown["add_note"], "7", "seen")

    assert tickets.notes == [result]


def test_note_waits_while_looking_fails(
    shown: dict[str, Any], run: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELLHOP_WORLD_URL", "http://127.0.0.1:1")

    with pytest.raises(RetryLater):
        run.send_again(shown["add_note"], "7", "seen")


def test_agents_of_the_page_are_configured_by_their_tables(
    shown: dict[str, Any], tmp_path: Path
) -> None:
    whole = "\n".join(["[sources.github]", *blocks("toml")])
    (tmp_path / "fleet.toml").write_text(whole)

    loaded = fleet.load(tmp_path / "fleet.toml")

    assert callable(shown["run"])
    assert loaded.agents["triage"].secrets == (github.SECRET, slack.SECRET)
    granted = [action for g in loaded.agents["biller"].allow for action in g.actions]
    assert granted == ["ses:SendEmail", "events:PutEvents"]


@pytest.mark.parametrize(
    "service", [github, google_calendar, slack, linear, stripe, http, ses, bus]
)
def test_table_of_the_page_names_what_exists(service: Any) -> None:
    name = service.__name__.rpartition(".")[2]
    named = re.findall(rf"`{name}\.(\w+)\(", PAGE.read_text())

    assert named
    assert all(callable(getattr(service, each)) for each in named)
