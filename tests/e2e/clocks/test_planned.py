"""From an entry in a feed to the agent at work, on the local stack, by its clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local import up
from local.home import Home
from local.stack import LocalStack, wait_for
from tests.e2e.terminal import Terminal

FLEET = Path(__file__).with_name("planned") / "fleet.toml"
FEED = "https://feeds.example/finance.ics"
# 48 hours before the deadline is half an hour from the beginning.
BEGINNING = "2026-11-26T16:30:00Z"
TASK = "calendar:finance:{}:once:month-end-close"
LIST = "https://www.googleapis.com/calendar/v3/calendars/primary/events"
CONSENT = {"type": "authorized_user", "client_id": "c", "client_secret": "s"}


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    home = Home(tmp_path_factory.mktemp("planned") / "local")
    with up.running(home, fleet=FLEET) as running:
        yield running


@pytest.fixture
def bellhop(planned: LocalStack, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(planned, FLEET, monkeypatch)


def entry(uid: str, deadline: str) -> str:
    lines = [f"UID:{uid}", "SUMMARY:Month-end close", f"DTSTART:{deadline}"]
    return "\r\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT"])


def serve(stack: LocalStack, *entries: str) -> None:
    head = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tests//EN"]
    stack.serve(FEED, "\r\n".join([*head, *entries, "END:VCALENDAR", ""]))


def rung(stack: LocalStack) -> list[tuple[str, int]]:
    """Return the tasks that the bell rang for, each as often."""
    return sorted(
        (effect["body"]["event"], effect["count"])
        for effect in stack.effects("bell.example")
    )


def test_work_begins_before_its_deadline_and_a_moved_one_later(
    planned: LocalStack, bellhop: Terminal
) -> None:
    planned.client("secretsmanager").put_secret_value(
        SecretId="bellhop/calendar-finance", SecretString=FEED
    )
    bellhop("clock", "set", BEGINNING, "--frozen")
    near = entry("near", "20261128T170000Z")
    serve(planned, near, entry("moved", "20261128T170500Z"))
    looks_until(planned, lambda: len(scheduled(planned)) == 2)
    assert {row["state"] for row in bellhop("plan", "--calendar", "finance")} == {
        "planned"
    }
    serve(planned, near, entry("moved", "20261210T170000Z"))
    # The scheduler beside the engine has seen the new ones.
    looks_until(planned, lambda: next_fire(planned) == "2026-11-26T17:00:00.000Z")

    bellhop("clock", "advance", "40m")

    near_task = TASK.format("near")
    assert wait_for(lambda: rung(planned) == [(near_task, 1)])
    assert scheduled(planned) == ["at(2026-12-08T17:00:00)"]
    states = {
        row["id"]: row["state"] for row in bellhop("plan", "--calendar", "finance")
    }
    assert states == {near_task: "begun", TASK.format("moved"): "planned"}


def test_work_of_a_calendar_of_google_s_begins_and_follows_it(
    planned: LocalStack, bellhop: Terminal
) -> None:
    planned.client("secretsmanager").put_secret_value(
        SecretId="bellhop/calendar-board",
        SecretString=json.dumps({**CONSENT, "refresh_token": "r"}),
    )
    bellhop("clock", "set", "2027-01-12T16:30:00Z", "--frozen")
    planned.reset_world()
    serve(planned)
    list_entries(planned, "2027-01-20T17:00:00Z")
    looks_until(
        planned,
        lambda: (
            [row["state"] for row in bellhop("plan", "--calendar", "board")]
            == ["planned"]
        ),
    )
    # The meeting is brought forward: its work begins in half an hour.
    list_entries(planned, "2027-01-14T17:00:00Z")
    looks_until(planned, lambda: next_fire(planned) == "2027-01-12T17:00:00.000Z")

    bellhop("clock", "advance", "40m")

    task = "calendar:board:b1@google.com:once:quarterly-board"
    assert wait_for(lambda: rung(planned) == [(task, 1)])
    (row,) = bellhop("plan", "--calendar", "board")
    assert (row["id"], row["state"]) == (task, "begun")


def list_entries(stack: LocalStack, due: str) -> None:
    """Let Google's calendar hold one meeting, as its API would list it."""
    meeting = {
        "id": "b1",
        "iCalUID": "b1@google.com",
        "status": "confirmed",
        "summary": "Quarterly board",
        "start": {"dateTime": due},
        "end": {"dateTime": due},
    }
    told = {"items": [meeting], "nextSyncToken": due, "accessRole": "reader"}
    stack.serve(LIST, json.dumps(told))


def looks_until(stack: LocalStack, seen: Callable[[], bool]) -> None:
    """Call the planner until what was published is seen.

    Its own schedule calls it too, where the clock is put on: at what was published
    before, or in the middle of a call of ours.
    """

    def looked() -> bool:
        answer = stack.client("lambda").invoke(
            FunctionName=stack.functions["planner"], Payload=b"{}"
        )
        assert "FunctionError" not in answer
        return seen()

    assert wait_for(looked)


def next_fire(stack: LocalStack) -> str | None:
    """Return when the scheduler beside the engine will fire next."""
    told = json.loads((stack.clock_file.parent / "schedules.json").read_text())
    found: str | None = told["next"]
    return found


def scheduled(stack: LocalStack) -> list[str]:
    """Return when the one-off schedules of tasks fire."""
    client = stack.client("scheduler")
    found = [
        client.get_schedule(Name=each["Name"], GroupName=each["GroupName"])
        for each in client.list_schedules()["Schedules"]
        if each["Name"].startswith("finance.")
    ]
    return sorted(each["ScheduleExpression"] for each in found)
