"""What may be saved, and what is read of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lambdas.shared.errors import Unavailable
from lambdas.worker.checkpoints import INLINE_STATE_BYTES, LARGEST_STATE_BYTES
from lambdas.worker.claim import Verdict
from tests.unit.worker.test_going_on import dead_because, rig_of


@pytest.mark.parametrize(
    "state", [object(), {1, 2}, b"bytes", float("nan"), {"a": {"b": object()}}]
)
def test_state_that_is_not_json_is_refused(state: Any) -> None:
    why = dead_because(lambda run: run.checkpoint(state))

    assert "the state of a checkpoint is a" in why
    assert "not JSON" in why


def test_state_in_a_circle_or_without_end_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert "not JSON" in dead_because(lambda run: run.checkpoint(circle))
    assert "not JSON" in dead_because(lambda run: run.checkpoint(deep))


def test_state_that_is_too_large_is_refused_with_what_to_do() -> None:
    largest = "x" * (LARGEST_STATE_BYTES - 2)

    why = dead_because(lambda run: run.checkpoint(largest + "x"))

    assert "5,242,881 bytes as JSON, of at most 5,242,880" in why
    assert "keep what is large elsewhere" in why
    rig = rig_of(lambda run: run.checkpoint(largest))
    assert rig.deliver() is Verdict.SUCCEEDED
    assert rig.story.checkpoints[0].bytes == LARGEST_STATE_BYTES


def test_threads_save_one_after_another() -> None:
    def body(run: Any) -> None:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(run.checkpoint, ["x" * INLINE_STATE_BYTES] * 40))

    rig = rig_of(body)

    assert rig.deliver() is Verdict.SUCCEEDED
    assert rig.story.checkpoints[0].version == 40
    assert len(rig.bodies) == 2


def test_state_that_an_agent_changes_is_not_what_it_resumed_from() -> None:
    seen = []

    def body(run: Any) -> None:
        if run.attempt == 1:
            state = {"found": [1]}
            run.checkpoint(state)
            state["found"].append(2)
            raise ValueError("bug")
        run.resumed_from["found"].append(3)
        run.checkpoint("another")
        seen.append(run.resumed_from)

    rig = rig_of(body)
    rig.deliver()
    rig.clock.advance(60)
    rig.deliver(receive_count=2)

    assert seen == [{"found": [1]}]


def test_first_attempt_reads_nothing_and_a_later_one_reads_once() -> None:
    calls: list[list[str]] = []

    def body(run: Any) -> None:
        rig.table.calls.clear()
        assert run.resumed_from is run.resumed_from is None
        calls.append(list(rig.table.calls))
        raise ValueError("bug")

    rig = rig_of(body)
    rig.deliver()
    rig.clock.advance(60)
    rig.deliver(receive_count=2)

    assert calls == [[], ["update"]]


@pytest.mark.parametrize("fate", ["not kept", "kept, and the answer lost"])
def test_state_whose_fate_is_unknown_is_not_written_over(fate: str) -> None:
    large = "x" * INLINE_STATE_BYTES

    def body(run: Any) -> None:
        if run.attempt == 1:
            run.checkpoint([1, large])
            failing = rig.table.failures if fate == "not kept" else lost
            failing.append(Unavailable(fate))
            with pytest.raises(Unavailable):
                run.checkpoint([2, large])
            rig.bodies.put = killed
            run.checkpoint([3, large])
        seen.append(run.resumed_from[0])

    def killed(key: str, data: bytes) -> None:
        put(key, data)
        raise Unavailable("killed between the object and the row")

    rig = rig_of(body)
    put, lost = rig.bodies.put, rig.table.lost_answers
    seen: list[int] = []

    assert rig.deliver() is Verdict.FAILED
    rig.clock.advance(60)
    rig.bodies.put = put
    assert rig.deliver("m1", receive_count=2) is Verdict.SUCCEEDED
    assert seen == [1 if fate == "not kept" else 2]


def test_state_whose_object_is_gone_is_told_so() -> None:
    def body(run: Any) -> None:
        if run.attempt == 1:
            run.checkpoint("x" * INLINE_STATE_BYTES)
            raise ValueError("bug")
        run.resumed_from  # noqa: B018 - it raises

    rig = rig_of(body)
    rig.deliver()
    rig.bodies.clear()
    rig.clock.advance(60)

    assert rig.deliver(receive_count=2) is Verdict.DEAD
    assert rig.run.reason is not None
    assert rig.run.reason.message == "the state of the checkpoint is gone"
