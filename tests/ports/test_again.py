"""A replay may run a finished event again: its effects are kept unless asked for."""

from __future__ import annotations

from typing import Any

import pytest

from lambdas.shared.event import Event
from lambdas.shared.story import operation_id
from lambdas.worker.claim import Verdict
from tests.fakes.worker import ISSUE, MakeRig, Rig, World, envelope, record

AGENT = "triage"


class Twice:
    """An agent with one step and one effect; counts both."""

    def __init__(self) -> None:
        self.world = World()
        self.thought = 0

    def think(self) -> int:
        self.thought += 1
        return self.thought

    def __call__(self, _: Event, run: Any) -> None:
        run.step("think", self.think)
        run.effect("post", self.world.post, "hello", repeatable=True)

    @property
    def posted(self) -> list[str]:
        """The operation ids that the other side has seen, each once."""
        return list(dict.fromkeys(self.world.sent))


@pytest.fixture
def agent() -> Twice:
    return Twice()


def test_again_makes_steps_anew_and_keeps_effects(
    make_rig: MakeRig, agent: Twice
) -> None:
    rig = make_rig(agent)
    rig.deliver("m1")

    verdict = rig.deliver("m2", generation=1, effects_generation=0)

    assert verdict is Verdict.SUCCEEDED
    assert (agent.thought, len(agent.world.sent)) == (2, 1)
    assert (rig.run.generation, rig.run.effects_generation) == (1, 0)


def test_fresh_effects_are_made_under_a_new_operation_id(
    make_rig: MakeRig, agent: Twice
) -> None:
    rig = make_rig(agent)
    rig.deliver("m1")

    rig.deliver("m2", generation=1, effects_generation=0)
    rig.deliver("m3", generation=2)

    assert agent.posted == [
        operation_id(ISSUE.id, AGENT, "post", 0),
        operation_id(ISSUE.id, AGENT, "post", 2),
    ]
    assert rig.run.effects_generation is None


def test_same_replay_delivered_twice_runs_once(make_rig: MakeRig, agent: Twice) -> None:
    rig = make_rig(agent)
    rig.deliver("m1")
    rig.deliver("m2", generation=1, effects_generation=0)

    assert rig.deliver("m3", generation=1, effects_generation=0) is Verdict.ACKNOWLEDGED
    assert agent.thought == 2


def test_again_waits_for_a_worker_that_is_at_work(make_rig: MakeRig) -> None:
    """Two at one effect would find each other's mark in doubt."""
    inner: list[Verdict] = []

    def busy(_: Event, run: Any) -> None:
        if run.attempt == 1:
            rig.clock.advance(1)
            inner.append(rig.deliver("m2", generation=1, effects_generation=0))

    rig: Rig = make_rig(busy)
    outer = rig.deliver("m1")

    assert (inner, outer) == ([Verdict.WAITING], Verdict.SUCCEEDED)
    assert rig.deliver("m2", generation=1, effects_generation=0) is Verdict.SUCCEEDED


def test_redriven_letter_of_before_keeps_the_generations_of_the_row(
    make_rig: MakeRig, agent: Twice
) -> None:
    outcomes = [None, RuntimeError("broken by the fix")]

    def run(event: Event, run: Any) -> None:
        agent(event, run)
        error = outcomes.pop(0) if outcomes else None
        if error is not None:
            raise error

    rig = make_rig(run)
    rig.deliver("m1")
    last = rig.spec.max_receives
    rig.deliver("m2", generation=1, effects_generation=0, receive_count=last)
    assert str(rig.run.state) == "DEAD"
    rig.clock.advance(60)

    assert rig.deliver("m4") is Verdict.SUCCEEDED
    assert (rig.run.generation, rig.run.effects_generation) == (1, 0)
    assert len(agent.posted) == 1


def test_message_of_a_replay_says_both_numbers(make_rig: MakeRig, agent: Twice) -> None:
    rig = make_rig(agent)
    rig.deliver("m1")
    told = envelope(generation=1, effects_generation=0)

    assert rig.take(record(told, message_id="m2")) is Verdict.SUCCEEDED
    assert len(agent.world.sent) == 1
