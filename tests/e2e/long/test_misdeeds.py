"""What an agent does to its own process harms its own run, and nothing else."""

from __future__ import annotations

import resource
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.home import Home
from local.stack import LocalStack, wait_for
from tests.e2e.crash.till import Till
from tests.e2e.long.crew import Crew, Digging, command_of, is_ours, pids

# A disk of that size stands in for a small one: no file can be larger.
DISK = 64 * 1024 * 1024


@dataclass(kw_only=True)
class Bad:
    """All misdeeds, each done by an order of its own, side by side."""

    done: dict[str, Digging]
    lines: list[dict[str, Any]]
    #: Taken when all was over, and the workers still worked.
    left_behind: list[int]
    files_left: list[Path]
    seconds: float


ONCE = {
    "vanish once": "crash",
    "hang up once": "crash",
    "leave behind": "crash",
    "hang once": "stalled",
    "seize once": "stalled",
    "leak once": "error",
}


@pytest.fixture(scope="module")
def bad(
    home: Home,
    mine: LocalStack,
    mine_till: Till,
    tmp_path_factory: pytest.TempPathFactory,
) -> Bad:
    began = time.monotonic()
    done = {act: Digging.of(mine, mine_till, "mined", act) for act in (*ONCE, "fill")}
    with Crew(home, mine, tmp_path_factory.mktemp("bad")) as crew:
        workers = [crew.start("miner"), crew.start("miner")]
        for worker in workers:
            resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (DISK, DISK))

        def is_over() -> bool:
            return all(each.state in {"SUCCEEDED", "DEAD"} for each in done.values())

        assert wait_for(is_over, seconds=120, every=0.5)
        # A worker clears up after the verdict.
        time.sleep(0.5)
        temp = crew.folder / "tmp"
        return Bad(
            done=done,
            lines=[line for worker in workers for line in worker.lines],
            left_behind=[p for p in pids() if is_behind(p, home)],
            files_left=[file for file in temp.rglob("*") if file.is_file()],
            seconds=time.monotonic() - began,
        )


def is_behind(pid: int, home: Home) -> bool:
    """Whether an agent has left this process behind."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return False
    return name == "left-behind" and is_ours(pid, home)


@pytest.mark.parametrize("act", ONCE)
def test_run_goes_on_after_a_misdeed(bad: Bad, act: str) -> None:
    order = bad.done[act]

    assert (order.state, order.run["attempt"]) == ("SUCCEEDED", 2)
    assert len(order.digs) == 1


def test_reason_of_each_is_told(bad: Bad) -> None:
    acts = {order.order.event_id: act for act, order in bad.done.items()}
    told = {
        acts[line["event_id"]]: line["category"]
        for line in bad.lines
        if line["message"] == "run failed, will be retried"
    }

    print(f"{len(bad.done)} misdeeds over after {bad.seconds:.0f} s: {told}")
    assert told == ONCE


def test_nothing_is_left_of_what_an_agent_left_behind(bad: Bad) -> None:
    """One in its group, one that has left it: both end with the agent's process."""
    assert bad.left_behind == []


def test_full_disk_is_emptied_after_the_run(bad: Bad) -> None:
    assert bad.done["fill"].state == "SUCCEEDED"
    assert bad.files_left == []


@pytest.mark.parametrize("act", ["ignore", "block"])
def test_agent_that_does_not_stop_is_ended_after_the_grace(
    mine: LocalStack, mine_till: Till, crew: Crew, act: str
) -> None:
    """Its message shows at once; here nobody else works, so it stays."""
    worker = crew.start("miner")
    order = Digging.of(mine, mine_till, "mined", act)
    order.waits_for("PROCESSING")
    time.sleep(0.5)
    began = time.monotonic()

    worker.send(signal.SIGTERM)

    assert worker.ends() == 0
    assert 2 <= time.monotonic() - began < 6
    assert (order.state, order.run["reason"]["category"]) == ("FAILED", "interrupted")
    queue = mine.queues["miner"]
    shown = mine.client("sqs").receive_message(QueueUrl=queue.url, WaitTimeSeconds=2)
    (message,) = shown["Messages"]
    # Done with: it would be run by the next test's worker.
    mine.client("sqs").delete_message(
        QueueUrl=queue.url, ReceiptHandle=message["ReceiptHandle"]
    )


def test_run_that_stalls_on_its_last_receive_is_a_dead_letter_with_that_reason(
    mine: LocalStack, mine_till: Till, crew: Crew
) -> None:
    worker = crew.start("miner")
    order = Digging.of(mine, mine_till, "mined", "block")

    order.waits_for("DEAD", seconds=60)

    assert order.run["reason"]["category"] == "stalled"
    assert "stall_seconds" in order.run["reason"]["message"]
    assert order.run["attempt"] == 3
    queue = mine.queues["miner"]
    assert wait_for(lambda: mine.waiting(queue.dlq_url) == 1, seconds=20)
    assert worker.metric("RunsKilled") == 3
    assert (worker.metric("RunsFailed"), worker.metric("RunsDead")) == (2, 1)


def test_agent_that_kills_its_supervisor_ends_with_it(
    mine: LocalStack, mine_till: Till, crew: Crew
) -> None:
    first = crew.start("miner")
    order = Digging.of(mine, mine_till, "mined", "orphan once")

    assert first.ends(30) == -signal.SIGKILL
    assert wait_for(lambda: crew.left_over() == [], seconds=2, every=0.05), [
        command_of(pid) for pid in crew.left_over()
    ]
    crew.start("miner")
    order.waits_for("SUCCEEDED")
    assert (order.run["attempt"], len(order.digs)) == (2, 1)
