"""Asked to stop, at once, or not at all: what a worker leaves behind it."""

from __future__ import annotations

import os
import signal
import time

from local.stack import LocalStack, wait_for
from tests.e2e.crash.till import Till
from tests.e2e.long.crew import Crew, Digging

STEPS = 6


def test_run_that_is_not_done_in_the_grace_is_given_back_and_goes_on_elsewhere(
    mine: LocalStack, mine_till: Till, crew: Crew
) -> None:
    """It never asks whether to stop; its finished steps are not taken again."""
    first = crew.start("digger")
    dug = Digging.of(mine, mine_till, "dug", "30")
    dug.has_begun(2)
    began = time.monotonic()

    first.send(signal.SIGTERM)
    second = crew.start("digger")
    code = first.ends()
    took = time.monotonic() - began
    dug.has_begun(len(dug.digs) + 2)

    print(f"ended with {code} in {took:.1f} s; grace 5 s; steps begun {len(dug.digs)}")
    assert (code, dug.run["attempt"]) == (0, 2)
    assert 5 <= took < 9
    # Shown at once: the lease of the first had seven seconds left.
    assert first.said("run was ended from outside")[0]["why"] == "stopped"
    dug.waits_for("SUCCEEDED")
    assert dug.repeated() == []
    assert len(dug.digs) <= 30 + 1
    assert set(dug.carts.values()) == {1}
    assert len(dug.carts) == 30
    assert second.is_running


def test_worker_without_work_ends_at_once(
    mine: LocalStack, mine_till: Till, crew: Crew
) -> None:
    worker = crew.start("digger")
    assert wait_for(worker.is_ready, seconds=20)
    began = time.monotonic()

    worker.send(signal.SIGTERM)

    assert worker.ends() == 0
    # It waits for the poll that is going on, a second here, to give back its message.
    assert time.monotonic() - began < 3
    assert worker.child is None


def test_second_signal_ends_the_run_at_once_and_loses_nothing(
    mine: LocalStack, mine_till: Till, crew: Crew
) -> None:
    worker = crew.start("digger")
    dug = Digging.of(mine, mine_till, "dug", "4")
    dug.has_begun()
    began = time.monotonic()

    worker.send(signal.SIGINT)
    time.sleep(0.2)
    worker.send(signal.SIGINT)

    assert worker.ends() == 0
    assert time.monotonic() - began < 3
    assert dug.run["reason"]["category"] == "interrupted"
    crew.start("digger")
    dug.waits_for("SUCCEEDED")
    assert dug.repeated() == []


def test_child_ends_with_a_supervisor_that_is_killed(
    mine: LocalStack, mine_till: Till, crew: Crew
) -> None:
    """Its message shows when its visibility is over, and its run goes on elsewhere."""
    worker = crew.start("digger")
    dug = Digging.of(mine, mine_till, "dug", "8")
    dug.has_begun()
    child = worker.child
    assert child is not None

    worker.send(signal.SIGKILL)
    worker.ends()

    assert wait_for(lambda: child not in crew.left_over(), seconds=2, every=0.02)
    begun = len(dug.digs)
    time.sleep(1)
    assert len(dug.digs) == begun
    crew.start("digger")
    dug.waits_for("SUCCEEDED")
    assert (dug.repeated(), dug.run["attempt"]) == ([], 2)
    assert set(dug.carts.values()) == {1}


def test_worker_paused_whole_beyond_its_lease_changes_nothing_when_it_goes_on(
    mine: LocalStack, mine_till: Till, crew: Crew
) -> None:
    paused = crew.start("digger")
    dug = Digging.of(mine, mine_till, "dug", "12")
    dug.has_begun(2)
    child = paused.child
    assert child is not None
    paused.send(signal.SIGSTOP)
    os.kill(child, signal.SIGSTOP)
    other = crew.start("digger")
    dug.waits_for("SUCCEEDED")
    rows = dug.rows

    os.kill(child, signal.SIGCONT)
    paused.send(signal.SIGCONT)

    assert wait_for(lambda: paused.child not in {None, child}, seconds=20)
    assert dug.rows == rows
    assert (dug.run["attempt"], dug.repeated()) == (2, [])
    assert set(dug.carts.values()) == {1}
    assert len(other.said("run succeeded")) == 1
    assert paused.said("run succeeded") == []
