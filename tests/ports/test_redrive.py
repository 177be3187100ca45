"""Dead runs: how they become so, what brings them back, and what must not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lambdas.shared.errors import GiveUp, RetryLater
from lambdas.shared.story import State
from lambdas.shared.table import Change, Is, Table
from lambdas.worker.claim import Verdict
from tests.fakes.worker import (
    ISSUE,
    TRIAGE,
    MakeRig,
    Script,
)


def test_give_up_is_dead_at_once_and_bounces_until_sqs_moves_it(
    make_rig: MakeRig,
) -> None:
    script = Script(GiveUp("locked", downstream="github"))
    rig = make_rig(script)

    first = rig.deliver("m1")
    bounces = [rig.deliver("m1", receive_count=n) for n in range(2, 6)]

    assert first is Verdict.DEAD
    assert bounces == [Verdict.BOUNCED] * 4
    assert rig.queue.hidden == [("receipt-m1", 0)] * 5
    assert script.attempts == [1]
    reason = rig.run.reason
    assert reason is not None
    assert (reason.category, reason.type) == ("gave_up", "GiveUp")
    assert (reason.message, reason.downstream) == ("locked", "github")


def test_last_receive_is_dead_with_its_reason(make_rig: MakeRig) -> None:
    script = Script(*[ValueError("no")] * 5)
    rig = make_rig(script)

    verdicts = []
    for n in range(1, 6):
        verdicts.append(rig.deliver("m1", receive_count=n))
        rig.clock.advance(1000)

    assert verdicts == [Verdict.FAILED] * 4 + [Verdict.DEAD]
    assert rig.run.state is State.DEAD
    assert rig.run.reason is not None
    assert rig.run.reason.type == "ValueError"


def test_duplicate_of_a_dead_run_is_acknowledged(make_rig: MakeRig) -> None:
    """Sent before the run died, it is no redrive: it must not run it again."""
    script = Script(GiveUp("no"))
    rig = make_rig(script)
    sent_ms = rig.clock.ms
    rig.clock.advance(5)
    rig.deliver("m1")
    rig.clock.advance(5)

    assert rig.deliver("m2", sent_ms=sent_ms) is Verdict.ACKNOWLEDGED

    assert script.attempts == [1]


def test_event_that_is_published_again_after_its_run_died_is_acknowledged(
    make_rig: MakeRig,
) -> None:
    """The relay repeats what it had no answer to: another envelope, sent later."""
    script = Script(GiveUp("no"))
    rig = make_rig(script)
    rig.deliver("m1")
    rig.clock.advance(5)

    assert rig.deliver("m2", envelope_id="of another") is Verdict.ACKNOWLEDGED

    assert (rig.run.state, rig.run.carrier) == (State.DEAD, "m1")
    assert script.attempts == [1]


def test_duplicate_that_took_the_run_over_leaves_the_letter_that_counts(
    make_rig: MakeRig,
) -> None:
    """Its own brings the run back; that of the carrier before it is a copy."""
    script = Script(RetryLater("busy"), GiveUp("no"))
    rig = make_rig(script)
    rig.deliver("m1")
    rig.clock.advance(60)
    rig.deliver("m2", envelope_id="second")
    rig.clock.advance(60)

    copy = rig.deliver("m3")
    redriven = rig.deliver("m4", envelope_id="second")

    assert [copy, redriven] == [Verdict.ACKNOWLEDGED, Verdict.SUCCEEDED]
    assert rig.run.envelope_id == "second"
    assert script.attempts == [1, 2, 3]


def test_message_that_a_person_wrote_brings_a_dead_run_back(make_rig: MakeRig) -> None:
    """It has no envelope that could tell anything."""
    script = Script(GiveUp("no"))
    rig = make_rig(script)
    rig.deliver("m1")
    rig.clock.advance(5)

    assert rig.deliver("m2", envelope_id="") is Verdict.SUCCEEDED

    assert rig.run.envelope_id is None


def test_dead_run_of_before_the_envelopes_comes_back_by_any_later_message(
    make_rig: MakeRig,
) -> None:
    script = Script(GiveUp("no"))
    rig = make_rig(script)
    rig.deliver("m1")
    change = Change(remove=["envelope_id"])
    rig.table.update(ISSUE.id, "run#triage", change, when=Is("state", "DEAD"))
    rig.clock.advance(5)

    assert rig.deliver("m2", envelope_id="of another") is Verdict.SUCCEEDED


def test_redrive_before_the_time_of_the_retry_waits_for_it(make_rig: MakeRig) -> None:
    """Its receives were used up while it waited: this is the only message left."""
    script = Script(RetryLater("busy", after=3600))
    rig = make_rig(script)
    rig.deliver("m1", receive_count=4)
    rig.clock.advance(600)

    early = rig.deliver("m2")
    hidden = rig.queue.hidden[-1]
    copy = rig.deliver("m3", envelope_id="of another")
    rig.clock.advance(3001)
    due = rig.deliver("m2", receive_count=2)

    assert [early, copy, due] == [
        Verdict.WAITING,
        Verdict.ACKNOWLEDGED,
        Verdict.SUCCEEDED,
    ]
    assert hidden == ("receipt-m2", 3000)
    assert script.attempts == [1, 2]


def test_redrive_runs_again_and_counts_on(make_rig: MakeRig) -> None:
    script = Script(GiveUp("no"))
    rig = make_rig(script)
    rig.deliver("m1")
    rig.clock.advance(3600)

    assert rig.deliver("m2") is Verdict.SUCCEEDED

    assert script.attempts == [1, 2]
    assert rig.run.carrier == "m2"


def test_redrive_pressed_twice_runs_once(make_rig: MakeRig) -> None:
    script = Script(GiveUp("no"))
    rig = make_rig(script)
    rig.deliver("m1")
    rig.clock.advance(3600)

    verdicts = [rig.deliver("m2"), rig.deliver("m3")]

    assert verdicts == [Verdict.SUCCEEDED, Verdict.ACKNOWLEDGED]
    assert script.attempts == [1, 2]


def test_redriven_run_that_fails_again_is_retried_by_the_redriven_message(
    make_rig: MakeRig,
) -> None:
    script = Script(GiveUp("no"), RetryLater("busy"))
    rig = make_rig(script)
    rig.deliver("m1")
    rig.clock.advance(3600)

    first = rig.deliver("m2", receive_count=1)
    rig.clock.advance(1)
    second = rig.deliver("m2", receive_count=2, sent_ms=rig.clock.ms - 1000)

    assert [first, second] == [Verdict.FAILED, Verdict.SUCCEEDED]
    assert script.attempts == [1, 2, 3]


@pytest.mark.parametrize("message_id", ["m1", "m2"], ids=["carrier", "other"])
def test_replay_for_fresh_effects_runs_a_run_that_succeeded(
    make_rig: MakeRig, message_id: str
) -> None:
    script = Script()
    rig = make_rig(script)
    rig.deliver("m1")

    assert rig.deliver(message_id, generation=1) is Verdict.SUCCEEDED
    assert rig.deliver("m3", generation=1) is Verdict.ACKNOWLEDGED

    assert script.attempts == [1, 2]
    assert rig.run.generation == 1


def test_older_message_works_at_the_generation_of_the_row(make_rig: MakeRig) -> None:
    """A late duplicate must not undo the replay after it."""
    script = Script(GiveUp("no"), RetryLater("busy"))
    rig = make_rig(script)
    rig.deliver("m1")
    rig.clock.advance(60)
    rig.deliver("m2", generation=1, envelope_id="of the replay")
    rig.clock.advance(60)

    assert rig.deliver("m3", generation=0) is Verdict.SUCCEEDED
    assert rig.deliver("m2", generation=1, receive_count=2) is Verdict.ACKNOWLEDGED

    assert script.attempts == [1, 2, 3]
    assert rig.run.generation == 1


def test_renamed_agent_does_not_run_its_events_again(make_rig: MakeRig) -> None:
    script = Script()
    make_rig(script).deliver("m1")
    renamed = replace(TRIAGE, name="sorter", was="triage")
    rig = make_rig(script, spec=renamed)

    assert rig.deliver("m2") is Verdict.ACKNOWLEDGED

    assert script.attempts == [1]
    assert rig.run.agent == "triage"


def test_dead_run_is_indexed_until_it_runs_again(
    make_rig: MakeRig, table: Table
) -> None:
    rig = make_rig(Script(RetryLater("busy"), GiveUp("no"), None))

    def indexed() -> list[str]:
        return [
            state
            for state in ("FAILED", "DEAD")
            if list(table.index("by-state", state, 0, 2**53))
        ]

    seen = []
    for message_id in ("m1", "m1", "m2"):
        rig.deliver(message_id)
        seen.append(indexed())
        rig.clock.advance(60)

    assert seen == [[], ["DEAD"], []]


def test_operator_may_read_the_reason_in_the_row(
    make_rig: MakeRig, table: Table
) -> None:
    rig = make_rig(Script(GiveUp("locked", downstream="github")))
    rig.deliver()

    row = table.get(ISSUE.id, "run#triage")

    assert row is not None
    assert {k: row["reason"][k] for k in ("category", "type", "message")} == {
        "category": "gave_up",
        "type": "GiveUp",
        "message": "locked",
    }
    assert len(row["reason"]["fingerprint"]) == 16
    assert row["attention"] == "DEAD"
