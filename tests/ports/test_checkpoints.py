"""What a run saves: in place of what was there, and by whom it may be written."""

from __future__ import annotations

from typing import Any

from lambdas.shared.errors import RetryLater
from lambdas.shared.event import Event
from lambdas.shared.ledger import Bodies
from lambdas.shared.table import Table
from lambdas.worker.checkpoints import LARGEST_STATE_BYTES
from lambdas.worker.claim import Verdict
from tests.fakes.worker import ISSUE, MakeRig


def test_save_every_second_keeps_two_objects(make_rig: MakeRig, bodies: Bodies) -> None:
    """5 MB a second for an hour is 18 GB; two objects are 10 MB."""
    state = {"padding": "x" * (LARGEST_STATE_BYTES - 20)}
    keys: set[str] = set()

    def agent(_: Event, run: Any) -> None:
        for _number in range(20):
            run.checkpoint(state)
            rig.clock.advance(1)

    rig = make_rig(agent)
    put = bodies.put
    bodies.put = lambda key, data: (keys.add(key), put(key, data))[1]  # type: ignore[method-assign,func-returns-value]

    assert rig.deliver() is Verdict.SUCCEEDED
    assert len(keys) == 2


def test_stale_worker_saves_nothing_over_the_one_that_went_on(
    make_rig: MakeRig, table: Table
) -> None:
    """Paused beyond its lease between two checkpoints, and longer than its clock."""
    verdicts: list[Verdict] = []

    def agent(_: Event, run: Any) -> None:
        if run.attempt == 1:
            run.checkpoint("early")
            rig.clock.advance(61)
            verdicts.append(rig.deliver("m1", receive_count=2))
            # It believes that its lease lasts: its clock was stopped with it.
            rig.time.claims[0].lease.extend(rig.clock.ms + 10_000, rig.clock.ms)
            run.checkpoint("stale")
            raise AssertionError("a stale worker has saved")
        assert run.resumed_from == "early"

    rig = make_rig(agent)

    assert rig.deliver("m1") is Verdict.STALE
    assert verdicts == [Verdict.SUCCEEDED]
    (row,) = table.query(ISSUE.id, "checkpoint#")
    assert (row["state"], row["version"]) == ('"early"', 1)


def test_agent_whose_lease_is_over_saves_nothing(make_rig: MakeRig) -> None:
    def agent(_: Event, run: Any) -> None:
        rig.clock.advance(61)
        run.checkpoint("late")

    rig = make_rig(agent)

    assert rig.deliver() is Verdict.STALE
    assert rig.story.checkpoints == ()


def test_run_of_a_killed_attempt_goes_on_from_its_last_checkpoint(
    make_rig: MakeRig,
) -> None:
    seen = []

    def agent(_: Event, run: Any) -> None:
        seen.append(run.resumed_from)
        if run.attempt < 3:
            run.checkpoint(run.attempt)
            raise RetryLater("busy")

    rig = make_rig(agent)
    for count in (1, 2, 3):
        rig.deliver("m1", receive_count=count)
        rig.clock.advance(60)

    assert seen == [None, 1, 2]
