"""What an agent does to its own process harms its own run, and nothing else."""

from __future__ import annotations

import resource
import signal
import time
from pathlib import Path

from local.stack import wait_for
from tests.e2e.long.crew import command_of, pids
from tests.e2e.long.scene import Play, scene

# No file can be larger: stands in for a disk that is full.
DISK = 64 * 1024 * 1024


def _goes_on_after(play: Play, act: str, category: str) -> None:
    worker = play.starts()
    order = play.rings(act)

    order.waits_for("SUCCEEDED")

    (failure,) = worker.said("run failed, will be retried")
    print(f"{act}: {failure['category']}, {failure['type']}")
    assert failure["category"] == category
    assert (order.run["attempt"], len(order.digs)) == (2, 1)
    assert worker.is_running


@scene("mines")
def run_goes_on_after_its_process_has_vanished(play: Play) -> None:
    _goes_on_after(play, "vanish once", "crash")


@scene("mines")
def run_goes_on_after_it_has_closed_every_file_of_its_process(play: Play) -> None:
    _goes_on_after(play, "hang up once", "crash")


@scene("mines")
def run_goes_on_once_that_wrote_into_every_file_and_forked_inside_a_step(
    play: Play,
) -> None:
    worker = play.starts()
    order = play.rings("scribble once", "part")

    order.waits_for("SUCCEEDED")

    (failure,) = worker.said("run failed, will be retried")
    assert failure["category"] == "crash"
    assert (order.run["attempt"], len(order.digs)) == (2, 2)
    assert worker.is_running


@scene("stalls")
def hung_run_is_ended_and_redelivered(play: Play) -> None:
    _goes_on_after(play, "hang once", "stalled")


@scene("stalls")
def run_that_holds_the_interpreter_is_ended_and_redelivered(play: Play) -> None:
    _goes_on_after(play, "seize once", "stalled")


@scene("mines")
def run_that_leaks_meets_its_limit_before_the_container_does(play: Play) -> None:
    _goes_on_after(play, "leak once", "error")


@scene("mines")
def nothing_is_left_of_what_an_agent_leaves_behind(play: Play) -> None:
    """One in its group, one that has left it; the worker works on."""
    _goes_on_after(play, "leave behind", "crash")

    def left() -> list[int]:
        names = {pid: Path(f"/proc/{pid}/comm") for pid in play.crew.left_over()}
        return [pid for pid, name in names.items() if "left-behind" in _text(name)]

    assert wait_for(lambda: left() == []), left()


@scene("mines")
def full_disk_is_emptied_after_the_run(play: Play) -> None:
    worker = play.starts()
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (DISK, DISK))
    assert wait_for(worker.is_ready)
    orders = [play.rings("fill"), play.rings("fill")]

    for order in orders:
        order.waits_for("SUCCEEDED")

    assert worker.log.read_bytes().count(b"filled 67108864 bytes") == 2
    temp = play.crew.folder / "tmp"
    assert wait_for(lambda: not [f for f in temp.rglob("*") if f.is_file()])


def _is_ended_after_the_grace(play: Play, act: str) -> None:
    """Its message shows at once, long before 90 s; nobody else works, so it stays."""
    worker = play.starts()
    order = play.rings(act)
    order.waits_for("PROCESSING")
    time.sleep(0.5)
    began = time.monotonic()

    worker.send(signal.SIGTERM)

    assert worker.ends() == 0
    assert time.monotonic() - began >= 2
    assert (order.state, order.run["reason"]["category"]) == ("FAILED", "interrupted")
    sqs = play.stack.client("sqs")
    shown = sqs.receive_message(QueueUrl=play.queue_url, WaitTimeSeconds=20)
    assert len(shown["Messages"]) == 1


@scene("lingers")
def agent_that_ignores_the_stop_is_ended_after_the_grace(play: Play) -> None:
    _is_ended_after_the_grace(play, "ignore")


@scene("lingers")
def agent_that_blocks_signals_is_ended_after_the_grace(play: Play) -> None:
    _is_ended_after_the_grace(play, "block")


@scene("stalls")
def run_that_stalls_on_its_last_receive_is_dead_for_that_reason(play: Play) -> None:
    worker = play.starts()
    order = play.rings("block")

    order.waits_for("DEAD")

    assert order.run["reason"]["category"] == "stalled"
    assert "stall_seconds" in order.run["reason"]["message"]
    assert order.run["attempt"] == 3
    assert wait_for(lambda: play.stack.dead_letters(play.agent) == 1)
    assert worker.metric("RunsKilled") == 3
    assert (worker.metric("RunsFailed"), worker.metric("RunsDead")) == (2, 1)


@scene("mines")
def agent_that_ends_its_supervisor_ends_with_it(play: Play) -> None:
    first = play.starts()
    order = play.rings("orphan once")

    assert first.ends() == -signal.SIGKILL
    assert wait_for(lambda: play.crew.left_over() == [], every=0.05), [
        command_of(pid) for pid in pids() if pid in play.crew.left_over()
    ]
    play.starts()
    order.waits_for("SUCCEEDED")
    assert (order.run["attempt"], len(order.digs)) == (2, 1)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""
