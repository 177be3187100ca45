"""An effect that was started, and nobody wrote down what became of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from agents import GiveUp, OutcomeUnknown, repeatable
from lambdas.shared.errors import InDoubt
from lambdas.shared.event import Event
from lambdas.shared.story import Status, operation_id
from lambdas.worker.claim import Verdict
from tests.fakes.worker import (
    ISSUE,
    MakeRig,
    World,
    deliver_twice,
    utc,
)

OPERATION = operation_id(ISSUE.id, "triage", "comment", 0)


@pytest.mark.parametrize(
    "failure",
    [OutcomeUnknown("no answer"), TimeoutError("read timed out")],
    ids=["outcome unknown", "any other"],
)
def test_effect_that_failed_half_way_is_dead_with_the_command_that_settles_it(
    make_rig: MakeRig, failure: Exception
) -> None:
    world = World()
    world.failures = [failure]
    rig = make_rig(lambda _, run: run.effect("comment", world.post, "hi"))

    assert rig.deliver("m1") is Verdict.DEAD

    reason = rig.run.reason
    assert reason is not None
    assert reason.category == "in_doubt"
    assert (
        "bellhop resolve github:72d3162e comment --happened|--not-happened"
        in reason.message
    )
    assert str(failure) in reason.message
    assert rig.story.effects[0].status is Status.STARTED


def test_effect_of_a_killed_worker_is_in_doubt_and_not_sent_again(
    make_rig: MakeRig,
) -> None:
    world = World()
    world.failures = [SystemExit(1)]
    rig = make_rig(lambda _, run: run.effect("comment", world.post, "hi"))

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.DEAD]

    assert len(world.sent) == 1
    assert rig.run.reason is not None
    assert rig.run.reason.category == "in_doubt"


@pytest.mark.parametrize(("happened", "sent"), [(True, 1), (False, 2)])
def test_what_an_operator_settled_is_respected(
    make_rig: MakeRig, happened: bool, sent: int
) -> None:
    world, results = World(), []
    world.failures = [TimeoutError()]

    def agent(event: Event, run: Any) -> None:
        results.append(run.effect("comment", world.post, "hi"))

    rig = make_rig(agent)
    rig.deliver("m1")
    rig.clock.advance(3600)
    settle = rig.ledger.settle

    assert settle(ISSUE.id, "triage", "comment", happened=happened, at=rig.clock())
    assert rig.deliver("m2") is Verdict.SUCCEEDED

    assert len(world.sent) == sent
    assert results == [None if happened else {"text": "hi", "number": 2}]


def test_only_an_effect_in_doubt_can_be_settled(make_rig: MakeRig) -> None:
    world = World()
    rig = make_rig(lambda _, run: run.effect("comment", world.post, "hi"))
    rig.deliver("m1")

    for effect in ("comment", "no such effect"):
        assert not rig.ledger.settle(
            ISSUE.id, "triage", effect, happened=False, at=rig.clock()
        )

    assert [effect.status for effect in rig.story.effects] == [Status.DONE]


def test_repeatable_effect_in_doubt_is_sent_again_under_the_same_id(
    make_rig: MakeRig,
) -> None:
    world = World()
    world.failures = [TimeoutError()]
    rig = make_rig(
        lambda _, run: run.effect("comment", world.post, "hi", repeatable=True)
    )

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.SUCCEEDED]
    assert world.sent == [OPERATION] * 2
    assert rig.story.effects[0].status is Status.DONE


def test_repeatable_effect_that_is_refused_later_stays_in_doubt(
    make_rig: MakeRig,
) -> None:
    """The refusal is the second sending's: the first may have happened."""
    world = World()
    world.failures = [TimeoutError(), GiveUp("issue is locked now")]
    rig = make_rig(
        lambda _, run: run.effect("comment", world.post, "hi", repeatable=True)
    )

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.DEAD]
    assert rig.story.effects[0].status is Status.STARTED


def test_marked_function_is_repeatable_by_itself(make_rig: MakeRig) -> None:
    sent = []

    @repeatable
    def charge(*, operation_id: str) -> str:
        sent.append(operation_id)
        if len(sent) == 1:
            raise TimeoutError
        return "ch_1"

    rig = make_rig(lambda _, run: run.effect("comment", charge))

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.SUCCEEDED]
    assert sent == [OPERATION] * 2


def test_effect_is_not_repeated_once_its_id_is_forgotten(make_rig: MakeRig) -> None:
    sent = []

    @repeatable(within=timedelta(hours=24))
    def charge(*, operation_id: str) -> None:
        sent.append(operation_id)
        raise TimeoutError

    rig = make_rig(lambda _, run: run.effect("comment", charge))
    rig.deliver("m1")
    rig.clock.advance(23 * 3600)
    rig.deliver("m1", receive_count=2)
    rig.clock.advance(2 * 3600)

    assert rig.deliver("m1", receive_count=3) is Verdict.DEAD
    assert len(sent) == 2
    assert rig.run.reason is not None
    assert rig.run.reason.category == "in_doubt"


class Looked:
    """An effect that looks before it acts; ``found`` is what looking tells."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self.sent: list[str] = []
        self.looks: list[tuple[str, str, datetime]] = []

    def effect(self) -> Callable[..., Any]:
        def look(text: str, *, operation_id: str, since: datetime) -> Any:
            self.looks.append((text, operation_id, since))
            if isinstance(self.found, Exception):
                raise self.found
            return self.found

        @repeatable(look=look)
        def comment(text: str, *, operation_id: str) -> Any:
            self.sent.append(f"{text} {operation_id}")
            if len(self.sent) == 1:
                raise TimeoutError
            return {"id": 2}

        return comment


def test_looking_that_finds_the_effect_settles_it(make_rig: MakeRig) -> None:
    looked, results = Looked({"id": 1}), []
    comment = looked.effect()

    def agent(event: Event, run: Any) -> None:
        results.append(run.effect("comment", comment, "hi"))

    rig = make_rig(agent)
    started_ms = rig.clock.ms

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.SUCCEEDED]
    assert results == [{"id": 1}]
    assert len(looked.sent) == 1
    assert looked.looks == [("hi", OPERATION, utc(started_ms))]
    assert rig.story.effects[0].status is Status.DONE


def test_looking_that_finds_nothing_sends_again(make_rig: MakeRig) -> None:
    looked = Looked(None)
    comment = looked.effect()
    rig = make_rig(lambda _, run: run.effect("comment", comment, "hi"))

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.SUCCEEDED]
    assert len(looked.sent) == 2


def test_looking_that_cannot_tell_leaves_the_effect_in_doubt(
    make_rig: MakeRig,
) -> None:
    looked = Looked(OutcomeUnknown("the list is too long"))
    comment = looked.effect()
    rig = make_rig(lambda _, run: run.effect("comment", comment, "hi"))

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.DEAD]
    assert len(looked.sent) == 1


def test_stale_worker_does_not_undo_what_the_next_one_did(make_rig: MakeRig) -> None:
    """Paused inside the effect: both send, under one id; the second's word holds."""
    sent = []

    @repeatable
    def post(*, operation_id: str) -> str:
        sent.append(operation_id)
        if len(sent) == 1:
            rig.clock.advance(61)
            assert rig.deliver("m1", receive_count=2) is Verdict.SUCCEEDED
            return "late"
        return "second"

    rig = make_rig(lambda _, run: run.effect("comment", post))

    assert rig.deliver("m1") is Verdict.STALE

    assert sent == [OPERATION] * 2
    row = rig.table.get(ISSUE.id, "effect#triage#comment")
    assert row["result"] == '"second"'


def test_in_doubt_error_can_be_read_by_the_agent(make_rig: MakeRig) -> None:
    world, seen = World(), []
    world.failures = [TimeoutError("no answer")]

    def agent(event: Event, run: Any) -> None:
        try:
            run.effect("comment", world.post, "hi")
        except InDoubt as error:
            seen.append((error.effect, type(error.__cause__)))

    rig = make_rig(agent)

    assert rig.deliver("m1") is Verdict.SUCCEEDED
    assert seen == [("comment", TimeoutError)]
