"""A later attempt finds what an earlier one did, on the fake and on DynamoDB."""

from __future__ import annotations

from typing import Any

import pytest

from agents import GiveUp, RetryLater
from lambdas.shared.errors import Misconfigured
from lambdas.shared.event import Event
from lambdas.shared.story import State, Status, operation_id
from lambdas.shared.table import Table
from lambdas.worker.claim import Verdict
from tests.fakes.worker import (
    ISSUE,
    MakeRig,
    World,
    deliver_twice,
    fails_once,
)

OPERATION = operation_id(ISSUE.id, "triage", "comment", 0)


def test_finished_step_is_not_paid_for_again(make_rig: MakeRig) -> None:
    asked, answers = [], []

    def classify(text: str) -> tuple[int, str]:
        asked.append(text)
        return 1, "é"

    def agent(event: Event, run: Any) -> None:
        answers.append(run.step("classify", classify, "x"))
        fails_once(run)

    rig = make_rig(agent)

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.SUCCEEDED]
    assert asked == ["x"]
    assert answers == [[1, "é"], [1, "é"]]


def test_step_that_failed_is_made_again(make_rig: MakeRig) -> None:
    asked = []

    def classify() -> str:
        asked.append(1)
        if len(asked) == 1:
            raise RetryLater("model is busy")
        return "bug"

    rig = make_rig(lambda _, run: run.step("classify", classify))

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.SUCCEEDED]
    assert len(asked) == 2


def test_effect_is_sent_once_whatever_happens_after_it(make_rig: MakeRig) -> None:
    world, results = World(), []

    def agent(event: Event, run: Any) -> None:
        results.append(run.effect("comment", world.post, "hi"))
        fails_once(run)

    rig = make_rig(agent)

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.SUCCEEDED]
    assert world.sent == [OPERATION]
    assert results == [{"text": "hi", "number": 1}] * 2


def test_operation_id_is_the_documented_one(make_rig: MakeRig) -> None:
    """Other programs may compute it: these exact bytes, this exact digest."""
    assert operation_id("github:1", "triage", "comment", 0) == OTHERS_COUNT_ON_IT


# printf 'github:1\ntriage\ncomment\n0' | sha256sum | cut -c1-32
OTHERS_COUNT_ON_IT = "fc9d3991a4559189f759114e533e5145"


def test_redrive_sends_no_effect_again(make_rig: MakeRig) -> None:
    world = World()

    def agent(event: Event, run: Any) -> None:
        run.effect("comment", world.post, "hi")
        if run.attempt == 1:
            raise GiveUp("no")

    rig = make_rig(agent)
    rig.deliver("m1")
    rig.clock.advance(3600)

    assert rig.deliver("m2") is Verdict.SUCCEEDED
    assert world.sent == [OPERATION]


def test_replay_for_fresh_effects_makes_steps_and_effects_anew(
    make_rig: MakeRig,
) -> None:
    world, asked = World(), []

    def agent(event: Event, run: Any) -> None:
        run.step("classify", lambda: asked.append(run.attempt))
        run.effect("comment", world.post, "hi")

    rig = make_rig(agent)
    rig.deliver("m1")

    assert rig.deliver("m2", generation=1) is Verdict.SUCCEEDED

    assert asked == [1, 2]
    again = operation_id(ISSUE.id, "triage", "comment", 1)
    assert world.sent == [OPERATION, again]
    assert [effect.generation for effect in rig.story.effects] == [1]


@pytest.mark.parametrize(
    "refusal",
    [RetryLater("busy"), Misconfigured("secret bellhop/github-token is empty")],
    ids=["retry later", "misconfigured"],
)
def test_effect_that_surely_did_not_happen_is_sent_by_the_next_attempt(
    make_rig: MakeRig, refusal: Exception
) -> None:
    world = World()
    world.failures = [refusal]
    rig = make_rig(lambda _, run: run.effect("comment", world.post, "hi"))

    rig.deliver("m1")
    released = rig.story.effects[0].status
    rig.clock.advance(10)

    assert rig.deliver("m1", receive_count=2) is Verdict.SUCCEEDED
    assert released is Status.RELEASED
    assert world.sent == [OPERATION] * 2


def test_refused_effect_is_free_again_for_the_redrive(make_rig: MakeRig) -> None:
    world = World()
    world.failures = [GiveUp("issue is locked")]
    rig = make_rig(lambda _, run: run.effect("comment", world.post, "hi"))

    assert rig.deliver("m1") is Verdict.DEAD
    rig.clock.advance(3600)

    assert rig.deliver("m2") is Verdict.SUCCEEDED
    assert len(world.sent) == 2


@pytest.mark.parametrize(
    "value",
    [{1, 2}, object(), float("nan"), b"bytes"],
    ids=["set", "object", "nan", "b"],
)
def test_effect_that_returns_no_json_is_not_sent_again(
    make_rig: MakeRig, value: Any
) -> None:
    sent, results = [], []

    def post(*, operation_id: str) -> Any:
        sent.append(operation_id)
        return value

    def agent(event: Event, run: Any) -> None:
        results.append(run.effect("comment", post))

    rig = make_rig(agent)

    assert rig.deliver("m1") is Verdict.DEAD
    rig.clock.advance(3600)
    assert rig.deliver("m2") is Verdict.SUCCEEDED

    assert len(sent) == 1
    assert results == [None]


def test_step_that_returns_no_json_says_so(make_rig: MakeRig) -> None:
    rig = make_rig(lambda _, run: run.step("classify", lambda: {1}))

    assert rig.deliver("m1") is Verdict.DEAD

    assert rig.run.reason is not None
    assert "step 'classify' returned a set, not JSON" in rig.run.reason.message


def test_result_too_large_for_a_row_is_kept_apart(
    make_rig: MakeRig, table: Table
) -> None:
    text, results = "é" * 400_000, []

    def agent(event: Event, run: Any) -> None:
        results.append(run.step("read", lambda: text) == text)
        results.append(run.effect("post", lambda **_: [text]) == [text])
        fails_once(run)

    rig = make_rig(agent)

    assert deliver_twice(rig) == [Verdict.FAILED, Verdict.SUCCEEDED]
    assert results == [True] * 4
    row = table.get(ISSUE.id, "step#triage#read")
    assert row is not None
    assert row["result_ref"].startswith("results/")
    assert "result" not in row


def test_nothing_is_started_once_the_lease_is_over(make_rig: MakeRig) -> None:
    world = World()
    asked: list[int] = []

    def agent(event: Event, run: Any) -> None:
        rig.clock.advance(61)
        with pytest.raises(Exception, match="lease"):
            run.effect("comment", world.post, "hi")
        with pytest.raises(Exception, match="lease"):
            run.step("classify", lambda: asked.append(1))

    rig = make_rig(agent)

    assert rig.deliver("m1") is Verdict.STALE
    assert (world.sent, asked) == ([], [])
    assert rig.story.effects == rig.story.steps == ()
    assert rig.run.state is State.PROCESSING


def test_mark_that_was_made_too_late_is_taken_back(
    make_rig: MakeRig, table: Table
) -> None:
    """A slow store: the lease ends while the mark is on its way."""
    world = World()
    update = table.update

    def slow(pk: str, sk: str, *args: Any, **kwargs: Any) -> Any:
        if sk.startswith("effect#") and not world.sent:
            rig.clock.advance(61)
        return update(pk, sk, *args, **kwargs)

    rig = make_rig(lambda _, run: run.effect("comment", world.post, "hi"))
    rig.table.update = slow

    assert rig.deliver("m1") is Verdict.STALE
    rig.table.update = update

    assert world.sent == []
    assert rig.story.effects[0].status is Status.RELEASED
    assert rig.deliver("m1", receive_count=2) is Verdict.SUCCEEDED
    assert len(world.sent) == 1
