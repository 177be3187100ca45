"""`schedules` and `tick`: what the clock wakes, and waking it by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from lambdas.shared.story import State
from tests.flows.cli.conftest import FLEET, Stack

MORE = """
[schedules.nightly]
agent = "hello"
cron = "30 2 * * ? *"
timezone = "Europe/Berlin"
max_lateness_seconds = 600

[schedules.line]
agent = "hello"
rate = "15 minutes"
overlap = "queue"

[schedules.skips]
agent = "hello"
rate = "2 hours"

[schedules.paused]
agent = "hello"
rate = "1 day"
enabled = false
"""
NOON = "2026-11-29T12:00:00Z"


@pytest.fixture
def timed(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """The stack, its fleet with schedules; its clock stands at noon."""
    file = tmp_path / "timed.toml"
    file.write_text(FLEET + MORE, encoding="utf-8")
    monkeypatch.setenv("BELLHOP_FLEET", str(file))
    stack.clock_file.write_text(NOON, encoding="utf-8")
    return stack


def listed(stack: Stack) -> dict[str, dict[str, object]]:
    return {row["schedule"]: row for row in stack.run("schedules").json}


def test_schedules_show_next_and_last_fire_and_their_state(timed: Stack) -> None:
    rows = listed(timed)

    assert rows["nightly"]["next"] == "2026-11-30T01:30:00.000Z"
    assert rows["nightly"]["state"] == "never fired"
    assert rows["line"]["next"] == "within 15 minutes"
    assert (rows["paused"]["state"], rows["paused"]["next"]) == ("off", None)


def test_tick_lets_a_schedule_fire_under_its_own_id_once(timed: Stack) -> None:
    first = timed.run("tick", "nightly")
    again = timed.run("tick", "nightly")

    assert (first.code, first.json["fired"]) == (0, "run")
    assert (again.code, again.json["fired"]) == (0, "duplicate")
    event = timed.table.get(f"cron:nightly:{NOON}", "event")
    assert event is not None
    assert event["kind"] == "tick"
    assert listed(timed)["nightly"]["last"] == NOON
    audits = timed.table.query("audit#2026-11-29")
    assert {(each["what"], each["about"]) for each in audits} == {
        ("tick by hand: run", f"cron:nightly:{NOON}"),
        ("tick by hand: duplicate", f"cron:nightly:{NOON}"),
    }


def test_tick_makes_up_for_one_that_was_missed_however_late(timed: Stack) -> None:
    """A tick of Scheduler's would be too late by its ``max_lateness_seconds``."""
    done = timed.run("tick", "nightly", "--at", "2026-11-29T01:30:00Z")

    assert done.json["fired"] == "run"


def test_rate_goes_on_from_its_last_tick(timed: Stack) -> None:
    timed.run("tick", "line", "--at", "2026-11-29T11:52:00Z")

    assert listed(timed)["line"]["next"] == "2026-11-29T12:07:00.000Z"


def test_tick_waits_in_line_behind_one_that_is_not_over(timed: Stack) -> None:
    timed.run("tick", "line", "--at", "10m")
    behind = timed.run("tick", "line", text=True)

    row = listed(timed)["line"]
    assert "in line" in behind.out
    assert (row["state"], row["waiting"]) == ("at work", 1)


def test_tick_that_is_skipped_is_told_and_ends_with_1(timed: Stack) -> None:
    timed.run("tick", "skips", "--at", "10m")
    skipped = timed.run("tick", "skips")

    assert (skipped.code, skipped.json["fired"]) == (1, "skipped")
    shown = timed.run("show", f"cron:skips:{NOON}")
    assert shown.json["runs"][0]["state"] == State.SKIPPED
    assert "was not over" in shown.json["runs"][0]["reason"]
    events = {row["event_id"]: row["agents"] for row in timed.run("events").json}
    assert events[f"cron:skips:{NOON}"] == "hello=SKIPPED"


def test_misses_that_the_watcher_reported_are_counted(timed: Stack) -> None:
    for hour in ("05", "06"):
        sk = f"missed#2026-11-29T{hour}:00:00Z"
        timed.table.put({"pk": "schedule#nightly", "sk": sk, "reported_at": 1})

    assert listed(timed)["nightly"]["missed"] == 2


def test_unknown_schedule_is_a_usage_error_that_names_those_there_are(
    timed: Stack,
) -> None:
    wrong = timed.run("tick", "nightly-sweep")

    assert wrong.code == 2
    assert "there are: nightly, line, skips, paused" in wrong.err
