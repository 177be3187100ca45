"""Asked to stop, at once, or not at all: what a worker leaves behind it."""

from __future__ import annotations

import os
import signal
import time

from local.stack import wait_for
from tests.e2e.long.scene import Play, scene

STEPS = 20


@scene("delves")
def run_that_is_asked_to_stop_hands_over_and_goes_on_elsewhere(play: Play) -> None:
    """From its checkpoint: no step is taken twice, and no receive is spent."""
    first = play.starts()
    dug = play.rings(str(STEPS))
    dug.has_begun(3)
    carrier, began = dug.run["carrier"], time.monotonic()

    first.send(signal.SIGTERM)
    code = first.ends()
    took = time.monotonic() - began
    at_the_end, shown = dug.state, play.stack.waiting(play.queue_url)
    play.starts()
    dug.waits_for("SUCCEEDED")

    steps = [dig["number"] for dig in dug.digs]
    print(f"ended with {code} in {took:.1f} s of 10, {at_the_end}; steps {len(steps)}")
    assert (code, at_the_end, shown) == (0, "SUSPENDED", 1)
    assert sorted(steps) == list(range(STEPS))
    assert dug.carts == {STEPS: 1}
    assert (dug.run["attempt"], dug.run["carrier"] != carrier) == (2, True)
    assert first.metric("RunsSuspended") == 1
    assert first.metric("RunsFailed") == first.metric("RunsKilled") == 0


@scene("holds")
def run_that_is_not_done_in_the_grace_is_given_back_and_goes_on_elsewhere(
    play: Play,
) -> None:
    """It never asks whether to stop; its finished steps are not taken again."""
    first = play.starts()
    dug = play.rings(str(STEPS))
    dug.has_begun(2)
    began = time.monotonic()

    first.send(signal.SIGTERM)
    second = play.starts()
    code = first.ends()
    took = time.monotonic() - began
    dug.has_begun(len(dug.digs) + 2)
    went_on = time.monotonic() - began

    print(f"ended with {code} in {took:.1f} s; grace 5 s; steps begun {len(dug.digs)}")
    assert (code, dug.run["attempt"]) == (0, 2)
    assert took >= 5
    # Shown at once: else its visibility of 90 s would have had to end.
    assert went_on < 60
    assert first.said("run was ended from outside")[0]["why"] == "stopped"
    dug.waits_for("SUCCEEDED")
    assert dug.repeated() == []
    assert len(dug.digs) <= STEPS + 1
    assert set(dug.carts.values()) == {1}
    assert len(dug.carts) == STEPS
    assert second.is_running


@scene("digs")
def worker_without_work_does_nothing_and_ends_at_once(play: Play) -> None:
    worker = play.starts()
    assert wait_for(worker.is_ready)
    used = worker.cpu_seconds()
    time.sleep(4)
    used = worker.cpu_seconds() - used
    print(f"idle for 4 s: {used:.2f} s of CPU; supervisor {worker.megabytes()} MB")
    # It polls once a second here, and every twenty in a container.
    assert used < 0.6
    began = time.monotonic()

    worker.send(signal.SIGTERM)

    # It waits for the poll that is going on, a second here, to give back its message.
    assert worker.ends(60) == 0
    print(f"ended in {time.monotonic() - began:.1f} s")
    assert worker.child is None


@scene("digs")
def second_signal_ends_the_run_at_once_and_loses_nothing(play: Play) -> None:
    worker = play.starts()
    dug = play.rings("4")
    dug.has_begun()
    began = time.monotonic()

    worker.send(signal.SIGINT)
    # Two that are not taken yet are one.
    assert wait_for(lambda: worker.said("worker is stopping"), every=0.02)
    worker.send(signal.SIGINT)

    assert worker.ends(60) == 0
    print(f"ended in {time.monotonic() - began:.1f} s")
    assert dug.run["reason"]["category"] == "interrupted"
    play.starts()
    dug.waits_for("SUCCEEDED")
    assert dug.repeated() == []


@scene("digs")
def child_ends_with_a_supervisor_that_is_killed(play: Play) -> None:
    """Its message shows when its visibility is over, and its run goes on elsewhere."""
    worker = play.starts()
    dug = play.rings("8")
    dug.has_begun()
    child = worker.child
    assert child is not None

    worker.send(signal.SIGKILL)
    worker.ends()

    assert wait_for(lambda: child not in play.crew.left_over(), seconds=20, every=0.02)
    begun = len(dug.digs)
    time.sleep(1)
    assert len(dug.digs) == begun
    play.starts()
    dug.waits_for("SUCCEEDED")
    assert (dug.repeated(), dug.run["attempt"]) == ([], 2)
    assert set(dug.carts.values()) == {1}


@scene("digs")
def worker_paused_whole_beyond_its_lease_changes_nothing_when_it_goes_on(
    play: Play,
) -> None:
    paused = play.starts()
    dug = play.rings("12")
    dug.has_begun(2)
    child = paused.child
    assert child is not None
    paused.send(signal.SIGSTOP)
    os.kill(child, signal.SIGSTOP)
    other = play.starts()
    dug.waits_for("SUCCEEDED")
    rows = dug.rows

    os.kill(child, signal.SIGCONT)
    paused.send(signal.SIGCONT)

    # Whoever finds first that the lease is over: the supervisor, or the run itself.
    assert wait_for(lambda: paused.health()[1]["state"] == "idle")
    assert dug.rows == rows
    assert (dug.run["attempt"], dug.repeated()) == (2, [])
    assert set(dug.carts.values()) == {1}
    assert len(other.said("run succeeded")) == 1
    assert paused.said("run succeeded") == []


def _keeps_its_work_though_its_clock_jumps(play: Play, jump: str) -> None:
    """Another worker keeps the right time: the two never work on it at once."""
    clock = play.crew.folder / "clock"
    clock.touch()
    worker = play.starts(BELLHOP_CLOCK_FILE=str(clock))
    dug = play.rings("16")
    dug.has_begun(2)
    play.starts()

    clock.write_text(jump, encoding="utf-8")

    dug.waits_for("SUCCEEDED")
    print(f"clock {jump} s: attempts {dug.run['attempt']}")
    assert dug.run["attempt"] <= 2
    assert dug.carts == dict.fromkeys(range(16), 1)
    assert len(dug.digs) <= 16 + 1
    assert worker.is_running


@scene("digs")
def clock_that_is_set_back_an_hour_lets_no_two_work_at_once(play: Play) -> None:
    _keeps_its_work_though_its_clock_jumps(play, "-3600")


@scene("digs")
def clock_that_is_set_ahead_an_hour_costs_an_attempt_at_most(play: Play) -> None:
    _keeps_its_work_though_its_clock_jumps(play, "+3600")
