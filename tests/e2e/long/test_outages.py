"""The ledger and the queue away, and clocks that jump: nothing is lost or repeated."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from local.home import Home, read_json
from local.stack import LocalStack, wait_for
from tests.e2e.crash.till import Till
from tests.e2e.long.crew import Crew, Digging

STEPS = 8


@pytest.mark.parametrize(
    ("seconds", "attempts"), [(4, 1), (16, 2)], ids=["hiccup", "beyond the lease"]
)
def test_store_and_queue_that_are_away_lose_nothing(
    home: Home,
    mine: LocalStack,
    mine_till: Till,
    crew: Crew,
    seconds: float,
    attempts: int,
) -> None:
    """A minute, scaled down: a lease is seven seconds here, and 85 by default."""
    worker = crew.start("digger")
    dug = Digging.of(mine, mine_till, "dug", str(STEPS))
    dug.has_begun(2)
    kept = read_json(home.keeper_file)
    assert kept is not None

    os.kill(kept["engine_pid"], signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(kept["engine_pid"], signal.SIGCONT)

    dug.waits_for("SUCCEEDED", seconds=60)
    failed = int(worker.metric("HeartbeatsFailed"))
    print(f"away for {seconds} s: attempts {dug.run['attempt']}, beats failed {failed}")
    assert dug.run["attempt"] <= attempts
    assert dug.repeated() == []
    assert dug.carts == dict.fromkeys(range(STEPS), 1)
    assert wait_for(lambda: mine.waiting(mine.queues["digger"].url) == 0, seconds=30)
    assert worker.is_running


def test_worker_whose_queue_is_away_says_so_and_takes_up_its_work_again(
    home: Home, mine: LocalStack, mine_till: Till, crew: Crew
) -> None:
    worker = crew.start("digger", AWS_ENDPOINT_URL_SQS="http://127.0.0.1:1")
    assert wait_for(lambda: worker.said("queue not polled"), seconds=20)

    assert worker.is_running
    assert worker.health()[1]["state"] == "idle"
    pauses = [line["again_seconds"] for line in worker.said("queue not polled")]
    assert all(pause <= 30 for pause in pauses)
    worker.send(signal.SIGTERM)
    assert worker.ends() == 0


@pytest.mark.parametrize("jump", ["-3600", "+3600"], ids=["back", "ahead"])
def test_clock_that_jumps_costs_an_attempt_at_most(
    mine: LocalStack, mine_till: Till, crew: Crew, tmp_path: Path, jump: str
) -> None:
    """Another worker keeps the right time: the two never work on it at once."""
    clock = tmp_path / "clock"
    clock.touch()
    worker = crew.start("digger", BELLHOP_CLOCK_FILE=str(clock))
    dug = Digging.of(mine, mine_till, "dug", "16")
    dug.has_begun(2)
    crew.start("digger")

    clock.write_text(jump, encoding="utf-8")

    dug.waits_for("SUCCEEDED", seconds=60)
    print(f"clock {jump} s: attempts {dug.run['attempt']}")
    assert dug.run["attempt"] <= 2
    assert dug.carts == dict.fromkeys(range(16), 1)
    begun = sorted(dig["number"] for dig in dug.digs)
    assert len(begun) <= 16 + 1
    assert worker.is_running
