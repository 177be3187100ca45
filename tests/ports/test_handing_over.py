"""A run that hands over: what it saves, who goes on, and what that may not cost.

The same on the table in memory and on DynamoDB and S3 as moto plays them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lambdas.shared.errors import Unavailable
from lambdas.shared.event import Event
from lambdas.shared.ledger import Bodies
from lambdas.shared.story import State
from lambdas.shared.table import Table
from lambdas.worker.checkpoints import INLINE_STATE_BYTES
from lambdas.worker.claim import Verdict
from lambdas.worker.delivery import Message
from tests.fakes.worker import ISSUE, TRIAGE, MakeRig, Rig, World, envelope, record

# Four rounds of 20 s fit no attempt of 60 s: after the second the next may take 30 s.
ROUND_SECONDS = 20


class Walker:
    """An agent that works in rounds, saves after each, and tells at the end."""

    def __init__(self, rounds: int = 7, *, padding: int = 0) -> None:
        self.rounds = rounds
        self.world = World()
        #: Which rounds were made, and in which attempt; and where each began.
        self.made: list[tuple[int, int]] = []
        self.resumed: list[Any] = []
        self.rig: Rig
        self._padding = "x" * padding

    def __call__(self, _: Event, run: Any) -> None:
        self.resumed.append(run.resumed_from)
        state = run.resumed_from or {"next": 0}
        while state["next"] < self.rounds and run.keep_going():
            run.step(f"round-{state['next']}", self._work, state["next"], run.attempt)
            state = {"next": state["next"] + 1, "padding": self._padding}
            run.checkpoint(state)
        run.effect("tell", self.world.post, "done")

    def _work(self, number: int, attempt: int) -> None:
        self.made.append((number, attempt))
        self.rig.clock.advance(ROUND_SECONDS)


MakeWalk = Callable[..., Walker]


@pytest.fixture
def walk(make_rig: MakeRig) -> MakeWalk:
    def make(*args: Any, spec: Any = TRIAGE, **options: Any) -> Walker:
        walker = Walker(*args, **options)
        walker.rig = make_rig(walker, spec=spec)
        return walker

    return make


def to_the_end(rig: Rig) -> list[Verdict]:
    """Deliver, and every message that carries the run on."""
    verdicts = [rig.invoke("m1")]
    while verdicts[-1] is Verdict.SUSPENDED:
        rig.clock.advance(0.5)
        verdicts.append(rig.carry_on())
    return verdicts


def test_run_longer_than_its_time_limit_goes_on_as_the_same_run(
    walk: MakeWalk,
) -> None:
    walker = walk(7)

    verdicts = to_the_end(walker.rig)

    assert verdicts == [Verdict.SUSPENDED] * 3 + [Verdict.SUCCEEDED]
    assert walker.made == [(n, 1 + n // 2) for n in range(7)]
    assert [s and s["next"] for s in walker.resumed] == [None, 2, 4, 6]
    assert len(walker.world.sent) == 1
    run = walker.rig.run
    assert (run.state, run.attempt, run.generation) == (State.SUCCEEDED, 4, 0)
    assert (run.reason, run.worked_ms) == (None, None)


def test_messages_that_carry_it_on_are_its_own_and_counted(walk: MakeWalk) -> None:
    rig = walk(7).rig
    first = Message.from_record(record(envelope(), sent_ms=rig.clock.ms))

    rig.runner.take(first, rig.invocation())
    rig.clock.advance(0.5)
    rig.carry_on()
    sent = [json.loads(body) for body in rig.queue.sent]

    assert [each["detail"].pop("continues") for each in sent] == [1, 2]
    original = envelope()
    for each in sent:
        assert {k: v for k, v in each.items() if k != "detail"} == {
            k: v for k, v in original.items() if k != "detail"
        }
        assert each["detail"] == {**original["detail"], "generation": 0}


def test_run_waits_suspended_and_anybody_may_take_it_up(walk: MakeWalk) -> None:
    walker = walk(3)
    rig = walker.rig
    rig.invoke("m1")

    run = rig.run

    assert run.state is State.SUSPENDED
    assert run.due_at is not None
    assert run.due_at < rig.clock.ms
    assert run.worked_ms == 2 * ROUND_SECONDS * 1000
    assert rig.invoke("stranger") is Verdict.SUCCEEDED
    assert rig.carry_on() is Verdict.ACKNOWLEDGED
    assert rig.invoke("m1", receive_count=2) is Verdict.ACKNOWLEDGED
    assert len(walker.made) == 3


def test_clock_behind_that_of_the_one_who_handed_over_loses_no_run(
    walk: MakeWalk,
) -> None:
    walker = walk(3)
    walker.rig.invoke("m1")

    walker.rig.clock.advance(-120)

    assert walker.rig.carry_on() is Verdict.SUCCEEDED


def test_checkpoint_is_one_row_that_expires_with_its_event(
    walk: MakeWalk, table: Table
) -> None:
    walker = walk(4, padding=10)
    rig = walker.rig
    to_the_end(rig)

    (row,) = table.query(ISSUE.id, "checkpoint#")

    text = json.dumps({"next": 4, "padding": "x" * 10}, separators=(",", ":"))
    assert row["sk"] == "checkpoint#triage"
    assert row["state"] == text
    assert (row["version"], row["attempt"], row["generation"]) == (4, 2, 0)
    assert row["bytes"] == len(text)
    assert row["expires_at"] == rig.ledger.expires_at(ISSUE)
    (told,) = rig.story.checkpoints
    assert (told.agent, told.version, told.attempt) == ("triage", 4, 2)
    assert (told.bytes, told.written_at) == (len(text), row["written_at"])


def test_large_states_take_turns_in_two_objects(
    walk: MakeWalk, bodies: Bodies, table: Table
) -> None:
    walker = walk(2, padding=INLINE_STATE_BYTES)
    keys: set[str] = set()
    put = bodies.put

    def seen(key: str, data: bytes) -> None:
        (row,) = list(table.query(ISSUE.id, "checkpoint#")) or [{}]
        assert key != row.get("state_ref"), "the one that the row names"
        keys.add(key)
        put(key, data)

    bodies.put = seen  # type: ignore[method-assign]
    walker.rounds = 9
    verdicts = to_the_end(walker.rig)

    assert verdicts == [Verdict.SUSPENDED] * 4 + [Verdict.SUCCEEDED]
    assert [s and s["next"] for s in walker.resumed] == [None, 2, 4, 6, 8]
    assert len(keys) == 9  # two for each attempt, one for the last
    assert all(key.startswith("results/") for key in keys)


def test_replay_that_runs_again_begins_without(walk: MakeWalk) -> None:
    walker = walk(3)
    rig = walker.rig
    to_the_end(rig)

    walker.made.clear()
    verdict = rig.invoke("m9", generation=1)

    assert verdict is Verdict.SUSPENDED
    assert walker.resumed[-1] is None
    assert rig.run.worked_ms == 2 * ROUND_SECONDS * 1000
    rig.clock.advance(0.5)
    assert rig.carry_on() is Verdict.SUCCEEDED
    assert [number for number, _ in walker.made] == [0, 1, 2]
    assert rig.run.generation == 1


def test_message_that_cannot_be_sent_leaves_the_old_one_as_its_carrier(
    walk: MakeWalk,
) -> None:
    walker = walk(3)
    rig = walker.rig
    rig.queue.refusals.append(Unavailable("the queue did not answer"))

    assert rig.invoke("m1") is Verdict.GIVEN_BACK

    assert not Verdict.GIVEN_BACK.is_done
    assert rig.queue.hidden == [("receipt-m1", 0)]
    assert rig.run.state is State.SUSPENDED
    assert rig.invoke("m1", receive_count=2) is Verdict.SUCCEEDED
    assert len(walker.made) == 3


def test_last_receive_that_cannot_send_leaves_a_dead_letter_with_its_reason(
    walk: MakeWalk,
) -> None:
    walker = walk(3)
    rig = walker.rig
    rig.queue.refusals.append(Unavailable("the queue did not answer"))

    verdict = rig.invoke("m1", receive_count=TRIAGE.max_receives)

    assert verdict is Verdict.DEAD
    assert rig.queue.hidden == [("receipt-m1", 0)]
    assert rig.run.reason is not None
    assert rig.run.reason.category == "unavailable"
    rig.clock.advance(1)
    assert rig.invoke("redriven") is Verdict.SUCCEEDED
    assert [number for number, _ in walker.made] == [0, 1, 2]


def test_run_that_works_for_too_long_is_dead_and_a_redrive_goes_on(
    walk: MakeWalk,
) -> None:
    spec = replace(TRIAGE, max_duration_seconds=120)
    walker = walk(7, spec=spec)
    rig = walker.rig

    verdicts = to_the_end(rig)

    assert verdicts == [Verdict.SUSPENDED] * 2 + [Verdict.DEAD]
    reason = rig.run.reason
    assert reason is not None
    assert (reason.category, reason.fault) == ("too_long", "timeout")
    assert "max_duration_seconds (120)" in reason.message
    rig.clock.advance(1)
    assert rig.invoke("redriven") is Verdict.SUCCEEDED
    assert [number for number, _ in walker.made] == list(range(7))


def test_waiting_is_no_work(walk: MakeWalk) -> None:
    """A queue with hours of work in front of a run does not make it too long."""
    walker = walk(3, spec=replace(TRIAGE, max_duration_seconds=70))
    rig = walker.rig
    rig.invoke("m1")

    rig.clock.advance(100_000)

    assert rig.carry_on() is Verdict.SUCCEEDED


def test_run_that_hands_over_for_nothing_comes_to_its_end(make_rig: MakeRig) -> None:
    """Lambda would stop such a loop; we let it run, and bound it ourselves."""

    def agent(_: Event, run: Any) -> None:
        rig.time.stopping = True
        run.checkpoint("nothing new")
        assert not run.keep_going()

    rig = make_rig(agent, spec=replace(TRIAGE, max_duration_seconds=60))

    verdicts = to_the_end(rig)

    assert verdicts == [Verdict.SUSPENDED] * 60 + [Verdict.DEAD]


def test_loop_that_saves_nothing_fails_and_comes_back_at_once(
    make_rig: MakeRig,
) -> None:
    def agent(_: Event, run: Any) -> None:
        while run.keep_going():
            rig.clock.advance(ROUND_SECONDS)

    rig = make_rig(agent)

    assert rig.invoke("m1") is Verdict.FAILED

    assert rig.queue.hidden == [("receipt-m1", 0)]
    assert rig.queue.sent == []
    run = rig.run
    assert run.reason is not None
    assert run.reason.category == "interrupted"
    assert "run.checkpoint" in run.reason.message
    last = rig.invoke("m1", receive_count=TRIAGE.max_receives)
    assert last is Verdict.DEAD


def test_checkpoint_of_an_earlier_attempt_is_no_progress_of_this_one(
    make_rig: MakeRig,
) -> None:
    def agent(_: Event, run: Any) -> None:
        if run.attempt == 1:
            run.checkpoint("once")
        while run.keep_going():
            rig.clock.advance(ROUND_SECONDS)

    rig = make_rig(agent)

    assert rig.invoke("m1") is Verdict.SUSPENDED
    rig.clock.advance(1)
    assert rig.carry_on() is Verdict.FAILED


def test_aws_event_is_carried_on_without_its_words(make_rig: MakeRig) -> None:
    """What AWS told is in the ledger; the message that goes on only names it."""
    told = {
        "version": "0",
        "id": "c0ffee",
        "source": "aws.s3",
        "detail-type": "Object Created",
        "account": "123456789012",
        "time": "2026-11-29T12:00:00Z",
        "region": "eu-central-1",
        "resources": [],
        "detail": {"bucket": {"name": "drop"}},
    }

    def agent(event: Event, run: Any) -> None:
        seen.append((event.id, event.payload["detail"]))
        if run.attempt == 1:
            run.checkpoint(1)
            rig.clock.advance(50)
            rig.time.stopping = True
            assert not run.keep_going()

    seen: list[Any] = []
    rig = make_rig(agent)

    assert rig.take(record(told)) is Verdict.SUSPENDED
    rig.clock.advance(0.5)
    assert rig.carry_on() is Verdict.SUCCEEDED

    (body,) = rig.queue.sent
    assert json.loads(body)["source"] == "bellhop.aws"
    assert "drop" not in body
    assert seen == [("aws:aws.s3:c0ffee", {"bucket": {"name": "drop"}})] * 2
