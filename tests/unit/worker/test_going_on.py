"""When an agent is told to stop, what it may still do then, and what it cannot keep."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agents import GiveUp
from lambdas.shared.event import Event
from lambdas.shared.story import State
from lambdas.worker.claim import Verdict
from lambdas.worker.pace import Pace
from tests.fakes.worker import Rig, World

Body = Callable[[Any], object]


def rig_of(body: Body) -> Rig:
    return Rig(lambda _, run: body(run))


def dead_because(body: Body) -> str:
    rig = rig_of(body)
    assert rig.deliver() is Verdict.DEAD
    assert rig.run.reason is not None
    assert rig.story.checkpoints == ()
    return rig.run.reason.message


class Clockwork:
    """Counts seconds; what is left falls with them."""

    def __init__(self, left_ms: int) -> None:
        self.seconds = 0.0
        self._left_ms = left_ms

    def __call__(self) -> float:
        return self.seconds

    def left(self) -> int:
        return self._left_ms - round(self.seconds * 1000)


def rounds_of(seconds: list[float], left_ms: int) -> int:
    """Return how many rounds of these lengths are begun."""
    clock = Clockwork(left_ms)
    pace = Pace(clock.left, clock)
    for number, each in enumerate(seconds):
        if not pace.has_time():
            return number
        clock.seconds += each
    return len(seconds)


@pytest.mark.parametrize(
    ("seconds", "left_ms", "begun"),
    [
        # 900 s: the last round may begin with 10 s + 1.5 rounds left.
        ([100] * 20, 900_000, 8),
        ([10] * 200, 900_000, 88),
        # A short attempt keeps a tenth of itself.
        ([0.5] * 20, 3_000, 4),
        # One long round is remembered.
        ([10, 10, 300, 10, 10, 10], 900_000, 6),
        ([10, 10, 300, 150, 10, 10], 900_000, 4),
        # The first is begun whatever it takes.
        ([899, 1], 900_000, 1),
    ],
)
def test_round_begins_only_if_one_half_as_long_again_would_end_in_time(
    seconds: list[float], left_ms: int, begun: int
) -> None:
    assert rounds_of(seconds, left_ms) == begun


def test_every_round_but_the_first_leaves_time_to_hand_over() -> None:
    """Whatever the lengths, as long as none is half as long again as those before."""
    for length_ms in range(50, 6_000, 50):
        clock = Clockwork(60_000)
        pace = Pace(clock.left, clock)
        while pace.has_time():
            clock.seconds += length_ms / 1000
        assert clock.left() >= 6_000 - 0.5 * length_ms, length_ms


def test_worker_that_stops_says_so_in_the_next_round() -> None:
    told = []

    def body(run: Any) -> None:
        told.append((run.stopping, run.keep_going()))
        rig.time.stopping = True
        told.append((run.stopping, run.keep_going()))
        rig.time.stopping = False
        told.append((run.stopping, run.keep_going()))
        run.checkpoint("saved")

    rig = rig_of(body)

    assert rig.deliver() is Verdict.SUSPENDED
    assert told == [(False, True), (True, False), (True, False)]


@pytest.mark.parametrize("more", ["step", "effect"])
@pytest.mark.parametrize("is_swallowed", [False, True])
def test_code_after_a_loop_that_was_ended_does_nothing(
    more: str, is_swallowed: bool
) -> None:
    world, reached = World(), list[str]()

    def body(run: Any) -> None:
        rig.time.stopping = True
        while run.keep_going():
            reached.append("another round")
        run.checkpoint(1)
        try:
            getattr(run, more)("tell", world.post, "done")
        except Exception:
            reached.append("an exception that agents catch")
        except BaseException:
            if not is_swallowed:
                raise
        if not is_swallowed:
            reached.append("the end")

    rig = rig_of(body)

    assert rig.deliver() is Verdict.SUSPENDED
    assert (reached, world.sent) == ([], [])


def test_agent_that_ends_while_it_may_go_on_is_done() -> None:
    def body(run: Any) -> None:
        run.checkpoint(1)
        assert run.keep_going()
        rig.time.stopping = True

    rig = rig_of(body)

    assert rig.deliver() is Verdict.SUCCEEDED


def test_agent_that_ignores_all_this_is_done_when_it_returns() -> None:
    def body(run: Any) -> None:
        rig.time.stopping = True

    rig = rig_of(body)

    assert rig.deliver() is Verdict.SUCCEEDED


@pytest.mark.parametrize(
    ("is_saved_after", "verdict"),
    [(True, Verdict.SUSPENDED), (False, Verdict.SUCCEEDED)],
)
def test_agent_that_looks_at_stopping_hands_over_by_saving_then(
    is_saved_after: bool, verdict: Verdict
) -> None:
    def body(run: Any) -> None:
        run.checkpoint("before")
        rig.time.stopping = True
        assert run.stopping
        if is_saved_after:
            run.checkpoint("after")

    rig = rig_of(body)

    assert rig.deliver() is verdict


def test_failure_after_a_no_is_a_failure() -> None:
    def body(run: Any) -> None:
        rig.time.stopping = True
        run.keep_going()
        run.checkpoint(1)
        raise ValueError("of its own")

    rig = rig_of(body)

    assert rig.deliver() is Verdict.FAILED
    assert rig.run.reason is not None
    assert rig.run.reason.type == "ValueError"


@pytest.mark.parametrize("call", ["checkpoint", "keep_going"])
@pytest.mark.parametrize("outer", ["step", "effect"])
def test_neither_belongs_into_a_step(call: str, outer: str) -> None:
    def body(run: Any) -> None:
        def inner(**_: Any) -> None:
            run.checkpoint(1) if call == "checkpoint" else run.keep_going()

        getattr(run, outer)("outer", inner)

    assert f"{call} was asked for inside 'outer'" in dead_because(body)


@pytest.mark.parametrize("call", ["checkpoint", "keep_going", "resumed_from"])
def test_nothing_is_saved_or_told_after_the_run_has_ended(call: str) -> None:
    kept: list[Any] = []
    rig = rig_of(kept.append)
    rig.deliver()
    calls: dict[str, Callable[[], object]] = {
        "checkpoint": lambda: kept[0].checkpoint(1),
        "keep_going": lambda: kept[0].keep_going(),
        "resumed_from": lambda: kept[0].resumed_from,
    }

    with pytest.raises(GiveUp, match="after its run had ended"):
        calls[call]()

    assert rig.story.checkpoints == ()
    assert rig.run.state is State.SUCCEEDED


def test_process_that_an_agent_forked_saves_nothing() -> None:
    def body(run: Any) -> None:
        child = os.fork()
        if not child:
            refused = 0
            for call in (lambda: run.checkpoint(1), run.keep_going):
                try:
                    call()
                except GiveUp:
                    refused += 1
            os._exit(refused)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 2

    rig = rig_of(body)

    assert rig.deliver() is Verdict.SUCCEEDED
    assert rig.story.checkpoints == ()


@pytest.mark.parametrize("hours", [-24, 24])
def test_clock_that_jumps_ends_no_run_wrongly(hours: int) -> None:
    """Forward, the lease is over: the run goes on elsewhere. Back, it goes on here."""

    def body(run: Any) -> None:
        if run.attempt == 1:
            run.checkpoint("saved")
            rig.clock.advance(hours * 3600)
            run.keep_going()
        seen.append(run.resumed_from)

    seen: list[Any] = []
    rig = rig_of(body)
    first = rig.deliver()

    rig.deliver(receive_count=2)

    assert first is (Verdict.STALE if hours > 0 else Verdict.SUCCEEDED)
    assert seen == (["saved"] if hours > 0 else [None])
    assert rig.run.state is State.SUCCEEDED


def test_every_call_is_a_sign_of_life() -> None:
    def body(run: Any) -> None:
        run.keep_going()
        run.checkpoint(1)
        run.step("one", int)
        run.log.info("here")

    rig = rig_of(body)

    rig.deliver()

    assert rig.time.signs == 4


def test_agent_of_another_thread_is_told_to_stop_too() -> None:
    """A no to one thread ends the steps of all."""
    said: list[str] = []

    def body(run: Any) -> None:
        rig.time.stopping = True
        run.keep_going()
        run.checkpoint(1)

        def work() -> None:
            try:
                run.step("beside", int)
            except BaseException as error:
                said.append(type(error).__name__)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    rig = rig_of(body)

    assert rig.deliver() is Verdict.SUSPENDED
    assert said == ["HandedOver"]


def test_event_of_the_run_is_given_again() -> None:
    """The attempt that goes on is called as the first one was."""
    events = []

    def agent(event: Event, run: Any) -> None:
        events.append(event.payload)
        if run.attempt == 1:
            rig.time.stopping = True
            run.keep_going()
            run.checkpoint(1)

    rig = Rig(agent)
    rig.deliver()
    rig.clock.advance(0.5)

    assert rig.carry_on() is Verdict.SUCCEEDED
    assert events == [{"issue": {"number": 7}}] * 2
