"""Who may claim a run, and what every other message does: the table, line by line.

The table is in docs/reference/guarantees.md, "What a message may do".

The same on the table in memory and on DynamoDB as moto plays it. (moto is not
atomic under threads: races are shown on the local engine.)
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from lambdas.shared.errors import GiveUp, RetryLater
from lambdas.shared.event import Event
from lambdas.shared.story import State
from lambdas.shared.table import Table
from lambdas.worker.claim import Verdict
from tests.fakes.worker import (
    ENVELOPE_ID,
    ISSUE,
    TRIAGE,
    FakeTime,
    MakeRig,
    Rig,
    Script,
)


def test_first_delivery_runs_and_is_recorded(make_rig: MakeRig) -> None:
    rig = make_rig(Script())

    assert rig.deliver() is Verdict.SUCCEEDED

    run = rig.run
    assert (run.state, run.attempt, run.carrier) == (State.SUCCEEDED, 1, "m1")
    assert (run.reason, run.due_at) == (None, None)
    assert run.started_at == run.finished_at == rig.clock.ms


def test_row_expires_with_its_event_and_is_never_extended(
    make_rig: MakeRig, table: Table
) -> None:
    rig = make_rig(Script(RetryLater("later")))

    rig.deliver()
    rig.clock.advance(3600)
    rig.deliver(receive_count=2)

    rows = list(table.query(ISSUE.id))
    assert [row["sk"] for row in rows] == ["event", "run#triage"]
    assert {row["expires_at"] for row in rows} == {rig.ledger.expires_at(ISSUE)}


def test_duplicate_of_a_run_that_succeeded_is_acknowledged(make_rig: MakeRig) -> None:
    script = Script()
    rig = make_rig(script)

    rig.deliver("m1")
    again = rig.deliver("m1", receive_count=2)
    other = rig.deliver("m2")

    assert [again, other] == [Verdict.ACKNOWLEDGED] * 2
    assert script.attempts == [1]


def in_progress(make_rig: MakeRig, script: Script) -> Rig:
    """Return a rig whose first worker was killed: its row says PROCESSING."""
    rig = make_rig(script)
    with pytest.raises(PowerCut):
        rig.runner.run(rig.delivery("m1"), DiesAtStart(rig))
    assert rig.run.state is State.PROCESSING
    return rig


class PowerCut(BaseException):
    """The process ends here: nothing after it is run."""


class DiesAtStart(FakeTime):
    """Lets the claim through; the process ends at the next use of its clock."""

    def __init__(self, rig: Rig) -> None:
        super().__init__()
        self._rig = rig

    def get_remaining_time_in_millis(self) -> int:
        update = self._rig.table.update

        def update_and_die(*args: Any, **kwargs: Any) -> Any:
            outcome = update(*args, **kwargs)
            self._rig.table.update = update
            if outcome.done:
                raise PowerCut
            return outcome

        self._rig.table.update = update_and_die
        return self._rig.time.milliseconds


def test_carrier_of_a_run_in_progress_waits_for_the_end_of_its_lease(
    make_rig: MakeRig,
) -> None:
    script = Script()
    rig = in_progress(make_rig, script)
    rig.clock.advance(20)

    assert rig.deliver("m1", receive_count=2) is Verdict.WAITING

    assert rig.queue.hidden == [("receipt-m1", 40)]
    assert script.attempts == []


def test_other_message_of_a_run_in_progress_is_acknowledged(make_rig: MakeRig) -> None:
    script = Script()
    rig = in_progress(make_rig, script)

    assert rig.deliver("m2") is Verdict.ACKNOWLEDGED

    assert rig.run.carrier == "m1"
    assert script.attempts == []
    assert rig.queue.hidden == []


@pytest.mark.parametrize("message_id", ["m1", "m2"], ids=["carrier", "other"])
def test_run_of_a_killed_worker_is_taken_up_after_its_lease(
    make_rig: MakeRig, message_id: str
) -> None:
    """Powertools issues 1038 and 738: a timed-out run must not stay in progress."""
    script = Script()
    rig = in_progress(make_rig, script)
    rig.clock.advance(60.001)

    assert rig.deliver(message_id, receive_count=2) is Verdict.SUCCEEDED

    assert script.attempts == [2]
    assert rig.run.carrier == message_id


def test_lease_ends_before_the_message_shows_again(make_rig: MakeRig) -> None:
    """However much time the worker has: a longer one than the queue gives is cut."""
    rig = make_rig(Script())
    rig.time.milliseconds = 10_000_000
    leases = []

    def agent(event: Event, run: Any) -> None:
        leases.append(rig.run.due_at)

    rig = make_rig(agent)
    rig.time.milliseconds = 10_000_000
    rig.deliver()

    (lease_ends_ms,) = leases
    assert lease_ends_ms is not None
    assert (
        rig.clock.ms < lease_ends_ms < rig.clock.ms + TRIAGE.visibility_seconds * 1000
    )


def test_stored_lease_is_the_time_the_worker_has_left(make_rig: MakeRig) -> None:
    rig = in_progress(make_rig, Script())

    assert rig.run.due_at == rig.clock.ms + 60_000


def test_worker_without_time_left_claims_nothing(make_rig: MakeRig) -> None:
    """Powertools issue 4759: 0 ms must not be taken for unknown."""
    script = Script()
    rig = make_rig(script)
    rig.time.milliseconds = 0

    assert rig.deliver() is Verdict.UNDECIDED

    assert rig.story.runs == ()
    assert script.attempts == []


def test_failed_run_is_tried_again_by_its_carrier(make_rig: MakeRig) -> None:
    script = Script(RetryLater("busy"), None)
    rig = make_rig(script)

    assert rig.deliver("m1") is Verdict.FAILED
    failed = rig.run
    rig.clock.advance(1)
    assert rig.deliver("m1", receive_count=2) is Verdict.SUCCEEDED

    assert (failed.state, failed.due_at) == (State.FAILED, rig.clock.ms + 3000)
    assert failed.reason is not None
    assert failed.reason.message == "busy"
    assert rig.run.reason is None
    assert script.attempts == [1, 2]


def test_duplicate_of_a_failed_run_waits_for_nobody_and_runs_nothing(
    make_rig: MakeRig,
) -> None:
    """Otherwise two messages burn two sets of receives: ten attempts, not five."""
    script = Script(RetryLater("busy"), RetryLater("busy"))
    rig = make_rig(script)

    rig.deliver("m1")

    assert rig.deliver("m2") is Verdict.ACKNOWLEDGED
    assert rig.run.state is State.FAILED
    assert script.attempts == [1]


def test_duplicate_may_take_over_a_failed_run_that_is_due(make_rig: MakeRig) -> None:
    script = Script(RetryLater("busy"))
    rig = make_rig(script)
    rig.deliver("m1")
    rig.clock.advance(4.001)

    assert rig.deliver("m2") is Verdict.SUCCEEDED
    assert rig.deliver("m1", receive_count=2) is Verdict.ACKNOWLEDGED

    assert script.attempts == [1, 2]


def test_stale_worker_changes_nothing_and_acknowledges_nothing(
    make_rig: MakeRig,
) -> None:
    """Paused beyond its lease; somebody else has run it meanwhile."""
    verdicts: list[Verdict] = []

    def slow(event: Event, run: Any) -> None:
        if run.attempt == 1:
            rig.clock.advance(61)
            verdicts.append(rig.deliver("m1", receive_count=2))

    rig = make_rig(slow)

    first = rig.deliver("m1")

    assert [first, *verdicts] == [Verdict.STALE, Verdict.SUCCEEDED]
    assert rig.run.attempt == 2
    assert rig.queue.hidden == []
    assert not first.is_done


def test_stale_worker_that_fails_changes_nothing(make_rig: MakeRig) -> None:
    """Powertools deletes the other worker's record here."""

    def slow(event: Event, run: Any) -> None:
        if run.attempt == 1:
            rig.clock.advance(61)
            rig.deliver("m1", receive_count=2)
            raise GiveUp("too late to say")

    rig = make_rig(slow)

    assert rig.deliver("m1") is Verdict.STALE

    assert rig.run.state is State.SUCCEEDED
    assert rig.queue.hidden == []


def test_event_sent_again_during_a_long_run_has_one_effect(make_rig: MakeRig) -> None:
    """Powertools issue 2023: at six minutes FIFO's five-minute window is over."""
    spec = replace(TRIAGE, timeout_seconds=900)
    verdicts: list[Verdict] = []

    def long(event: Event, run: Any) -> None:
        rig.clock.advance(360)
        verdicts.append(rig.deliver("m2"))
        attempts.append(run.attempt)

    attempts: list[int] = []
    rig = make_rig(long, spec=spec)

    assert rig.deliver("m1") is Verdict.SUCCEEDED
    assert verdicts == [Verdict.ACKNOWLEDGED]
    assert attempts == [1]


def test_two_at_once_have_one_effect_and_no_dead_letter(make_rig: MakeRig) -> None:
    """Powertools issue 2490: the loser neither raises nor burns the receives."""
    seen = []

    def agent(event: Event, run: Any) -> None:
        seen.append(run.attempt)
        seen.append(rig.deliver("m2"))

    rig = make_rig(agent)

    assert rig.deliver("m1") is Verdict.SUCCEEDED
    assert seen == [1, Verdict.ACKNOWLEDGED]


@pytest.mark.parametrize("state", [None, *State], ids=str)
def test_every_cell_of_the_rule(make_rig: MakeRig, state: State | None) -> None:
    """The rule written a second time, as a table, against the condition itself."""
    flags = [[True, False]] * 4
    cells = itertools.product(*flags, [0, 1])
    for number, (is_carrier, is_due, is_later, is_same, generation) in enumerate(cells):
        script = Script()
        rig = make_rig(script, spec=replace(TRIAGE, name=f"triage-{number}"))
        now = rig.clock.ms
        if state is not None:
            due_at = now - 1 if is_due else now + 30_000
            put_run(rig, state, due_at=due_at, started_at=now, finished_at=now)

        verdict = rig.deliver(
            "m1" if is_carrier else "m2",
            generation=generation,
            sent_ms=now + 1 if is_later else now,
            envelope_id=ENVELOPE_ID if is_same else "of another publication",
        )

        waits = state in {State.FAILED, State.SUSPENDED}
        claims = (
            state is None
            or ((waits or state is State.PROCESSING) and is_due)
            or (waits and is_carrier)
            or (state is State.DEAD and not is_carrier and is_later and is_same)
            or generation == 1
        )
        if claims:
            expected = Verdict.SUCCEEDED
        elif (state is State.PROCESSING and is_carrier) or (
            waits and is_later and is_same
        ):
            expected = Verdict.WAITING
        elif state is State.DEAD and is_carrier:
            expected = Verdict.BOUNCED
        else:
            expected = Verdict.ACKNOWLEDGED
        cell = (
            f"carrier={is_carrier} due={is_due} later={is_later} same={is_same}"
            f" gen={generation}"
        )
        assert (cell, verdict) == (cell, expected)
        assert len(script.attempts) == (1 if claims else 0)


def put_run(rig: Rig, state: State, **attributes: int) -> None:
    rig.table.put(
        {
            "pk": ISSUE.id,
            "sk": f"run#{rig.spec.key}",
            "state": state,
            "carrier": "m1",
            "claim_token": "somebody",
            "attempt": 1,
            "generation": 0,
            "envelope_id": ENVELOPE_ID,
            "expires_at": rig.ledger.expires_at(ISSUE),
            **attributes,
        }
    )
