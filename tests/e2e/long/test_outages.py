"""The ledger and the queue away, and clocks that jump: nothing is lost or repeated."""

from __future__ import annotations

import os
import signal
import time

from local.home import Home, read_json
from local.stack import LocalStack, wait_for
from tests.e2e.crash.till import Till
from tests.e2e.long.crew import Crew
from tests.e2e.long.scene import Play

AGENT = "outage"
STEPS = 8


def test_store_and_queue_that_are_away_lose_nothing(
    home: Home, mine: LocalStack, mine_till: Till, crew: Crew, full_size: bool
) -> None:
    """A minute, scaled down: a lease is seven seconds here, and 85 by default."""
    seconds, attempts = (16, 2) if full_size else (4, 1)
    play = Play(home=home, stack=mine, till=mine_till, crew=crew, agent=AGENT)
    worker = play.starts()
    dug = play.rings(str(STEPS))
    dug.has_begun(2)
    kept = read_json(home.keeper_file)
    assert kept is not None

    os.kill(kept["engine_pid"], signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(kept["engine_pid"], signal.SIGCONT)

    dug.waits_for("SUCCEEDED")
    failed = int(worker.metric("HeartbeatsFailed"))
    print(f"away for {seconds} s: attempts {dug.run['attempt']}, beats failed {failed}")
    assert dug.run["attempt"] <= attempts
    assert dug.repeated() == []
    assert dug.carts == dict.fromkeys(range(STEPS), 1)
    assert wait_for(lambda: mine.waiting(play.queue_url) == 0)
    assert worker.is_running


def test_worker_whose_queue_is_away_says_so_and_takes_up_its_work_again(
    home: Home, mine: LocalStack, mine_till: Till, crew: Crew
) -> None:
    worker = crew.start(AGENT, AWS_ENDPOINT_URL_SQS="http://127.0.0.1:1")
    assert wait_for(lambda: worker.said("queue not polled"))

    assert worker.is_running
    assert worker.health()[1]["state"] == "idle"
    pauses = [line["again_seconds"] for line in worker.said("queue not polled")]
    assert all(pause <= 30 for pause in pauses)
    worker.send(signal.SIGTERM)
    assert worker.ends() == 0
