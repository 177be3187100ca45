"""A week of schedules, compressed, with a change of the clock: on the local stack.

Deployed from the template, driven by ``bellhop clock``; what came is read from the
bell that the agent rings, in the outside world.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import up
from local.home import Home
from local.stack import LocalStack, wait_for
from tests.e2e.terminal import Terminal

HERE = Path(__file__).with_name("clockwork")
FLEET = HERE / "fleet.toml"

# From Thursday night; on Sunday, 28 March 2027, Berlin has no 02:30.
BEGINNING, WEEK = "2027-03-25T23:00:00Z", "7d"
NIGHTLY = [f"2027-03-{day}T01:30:00Z" for day in (26, 27)]
NIGHTLY += [f"2027-03-{day}T00:30:00Z" for day in (29, 30, 31)]
NIGHTLY += ["2027-04-01T00:30:00Z"]
WEEKDAY = [f"2027-03-{day}T10:00:00Z" for day in (26, 29, 30, 31)]
WEEKDAY += ["2027-04-01T10:00:00Z"]
NOON = ["2027-03-27T12:15:00Z", "2027-03-30T12:15:00Z"]
SUNDAY = [f"2027-03-28T10:00:00Z:{item}" for item in ("acme", "globex")]
WANTED = {
    "nightly": NIGHTLY,
    "weekday": WEEKDAY,
    "noon": NOON,
    "sunday": SUNDAY,
    "paused": [],
}


@pytest.fixture(scope="module")
def clockwork(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    home = Home(tmp_path_factory.mktemp("clockwork") / "local")
    with up.running(home, fleet=FLEET) as running:
        yield running


@pytest.fixture
def bellhop(clockwork: LocalStack, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(clockwork, FLEET, monkeypatch)


def rung(stack: LocalStack) -> dict[str, list[str]]:
    """Return for each schedule the ticks that the bell rang for, each as often."""
    found: dict[str, list[str]] = {name: [] for name in WANTED}
    for effect in stack.effects("bell.example"):
        _, name, planned = effect["body"]["event"].split(":", 2)
        found[name] += [planned] * effect["count"]
    return {name: sorted(planned) for name, planned in found.items()}


def test_a_week_with_a_change_of_the_clock(
    clockwork: LocalStack, bellhop: Terminal
) -> None:
    bellhop("clock", "set", BEGINNING, "--frozen")
    assert wait_for(lambda: watched(clockwork))

    began = time.monotonic()
    bellhop("clock", "advance", WEEK)
    took = time.monotonic() - began
    wait_for(lambda: rung(clockwork) == WANTED)

    print(f"a week in {took:.1f} s:", dict(Counter(map(len, rung(clockwork).values()))))
    assert rung(clockwork) == WANTED
    listed = {row["schedule"]: row for row in bellhop("schedules")}
    assert {row["missed"] for row in listed.values()} == {0}
    assert listed["nightly"]["last"] == NIGHTLY[-1]
    assert listed["nightly"]["next"] == "2027-04-02T00:30:00.000Z"
    assert listed["paused"]["state"] == "off"


def test_a_tick_by_hand_is_that_tick(clockwork: LocalStack, bellhop: Terminal) -> None:
    again = bellhop("tick", "nightly", "--at", NIGHTLY[0])
    new = bellhop("tick", "weekday", "--at", "2027-03-25T10:00:00Z")

    assert again["fired"] == "duplicate"
    assert new["fired"] == "run"
    event_id = "cron:weekday:2027-03-25T10:00:00Z"
    assert wait_for(lambda: "2027-03-25T10:00:00Z" in rung(clockwork)["weekday"])
    assert clockwork.rows(event_id)["event"]["source"] == "cron"


def test_a_hole_in_time_is_told_by_the_watcher(
    clockwork: LocalStack, bellhop: Terminal
) -> None:
    """`set` jumps, as an outage would: in it nothing fires."""
    bellhop("clock", "set", "2027-04-02T20:00:00Z", "--frozen")

    def missed() -> dict[str, int]:
        return {row["schedule"]: row["missed"] for row in bellhop("schedules")}

    wanted = {"nightly": 1, "weekday": 1, "noon": 0, "sunday": 0, "paused": 0}
    wait_for(lambda: missed() == wanted)
    assert missed() == wanted
    assert "2027-04-02T00:30:00Z" not in rung(clockwork)["nightly"]


def test_what_is_no_tick_is_kept_with_its_reason(clockwork: LocalStack) -> None:
    """Literal context attributes are what a misspelt input would send."""
    clockwork.client("lambda").invoke(
        FunctionName=clockwork.functions["cron"],
        InvocationType="Event",
        Payload=json.dumps(
            {"schedule": "nightly", "planned": "<aws.scheduler.scheduled-time>"}
        ).encode(),
    )

    log = clockwork.log_dir / "engine.log"
    said = "Scheduler has not put its planned time in place of the context attribute"
    assert wait_for(lambda: said in log.read_text(encoding="utf-8", errors="replace"))


def watched(stack: LocalStack) -> bool:
    rows = stack.rows("schedule#nightly")
    return "watch" in rows and rows["watch"]["until"].startswith("2027-03-25")
