"""What the runner does with every way an attempt can end."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agents import RetryLater
from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.event import Event
from lambdas.shared.story import State
from lambdas.worker import agent as agents
from lambdas.worker.claim import Verdict
from lambdas.worker.runner import Runner
from tests.fakes.worker import ISSUE, TRIAGE, Rig, World
from tests.unit.worker.agents import nothing, raising


class Unspeakable(Exception):
    """An exception that cannot even be printed."""

    def __str__(self) -> str:
        raise ValueError("no words")


def endless(depth: int = 0) -> int:
    return endless(depth + 1)


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (ValueError("bad"), "error"),
        (Unspeakable(), "error"),
        (MemoryError(), "error"),
        (SystemExit(1), "crash"),
        (KeyboardInterrupt(), "crash"),
        (GeneratorExit(), "crash"),
        (RetryLater("busy"), "passing"),
        (Unavailable("the ledger was not reached"), "unavailable"),
        (Misconfigured("secret x is empty"), "setup"),
    ],
    ids=lambda value: (
        type(value).__name__ if isinstance(value, BaseException) else value
    ),
)
def test_whatever_an_agent_raises_is_a_reason_in_the_ledger(
    error: BaseException, category: str
) -> None:
    rig = Rig(raising(error))

    assert rig.deliver() is Verdict.FAILED

    reason = rig.run.reason
    assert reason is not None
    assert (reason.category, reason.type) == (category, type(error).__name__)
    assert reason.message


def test_endless_recursion_is_a_reason_in_the_ledger() -> None:
    rig = Rig(lambda *_: endless())

    assert rig.deliver() is Verdict.FAILED

    assert rig.run.reason is not None
    assert rig.run.reason.type == "RecursionError"


def test_what_an_agent_returns_is_not_stored_and_not_looked_at() -> None:
    rig = Rig(lambda *_: {object()})

    assert rig.deliver() is Verdict.SUCCEEDED


def test_agent_that_would_run_nothing_says_so() -> None:
    """A coroutine that nobody awaits would be taken for a success."""

    async def coroutine(event: Event, run: Any) -> None: ...

    def generator(event: Event, run: Any) -> Any:
        yield

    for agent in (coroutine, generator):
        rig = Rig(agent)
        assert rig.deliver() is Verdict.DEAD
        assert rig.run.reason is not None
        assert "want a plain function" in rig.run.reason.message


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ("agents.no_such_thing:run", "ModuleNotFoundError"),
        ("agents.hello:no_such_thing", "AttributeError"),
        ("agents.hello:__name__", "is a str"),
    ],
)
def test_agent_that_cannot_be_loaded_is_its_authors_fault_and_retried(
    run: str, why: str
) -> None:
    rig = Rig(nothing, spec=replace(TRIAGE, run=run))
    rig.runner = Runner(rig.spec, rig.ports)

    assert rig.deliver() is Verdict.FAILED

    reason = rig.run.reason
    assert reason is not None
    assert reason.category == "setup"
    assert why in reason.message


def test_module_that_ends_the_process_at_import_is_only_a_reason(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "exits_at_import.py").write_text("import sys; sys.exit(3)")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(Misconfigured, match="SystemExit"):
        agents.load("exits_at_import", "run")
    assert "exits_at_import" not in sys.modules


def test_back_off_doubles_up_to_its_ceiling_with_full_jitter() -> None:
    spec = replace(TRIAGE, max_receives=10, backoff_max_seconds=20)
    asked = []

    def lowest(low: float, high: float) -> float:
        asked.append((low, high))
        return low

    rig = Rig(raising(ValueError()), spec=spec, chance=lowest)
    for n in range(1, 7):
        rig.deliver(receive_count=n)

    assert asked == [(2, 4), (2, 8), (2, 16), (2, 20), (2, 20), (2, 20)]
    assert rig.queue.hidden == [("receipt-m1", 2)] * 6


def test_wait_that_an_agent_asks_for_is_kept_to_the_second() -> None:
    rig = Rig(raising(RetryLater("rate limit", after=timedelta(minutes=17))))

    rig.deliver()

    assert rig.queue.hidden == [("receipt-m1", 1020)]
    assert rig.run.due_at == rig.clock.ms + 1_020_000


def test_wait_never_goes_past_what_sqs_allows() -> None:
    """Twelve hours from the first receive: beyond them SQS refuses the change."""
    rig = Rig(raising(RetryLater("tomorrow", after=timedelta(hours=11))))
    two_hours_ago = rig.clock.ms - 2 * 3_600_000

    rig.deliver(first_received_ms=two_hours_ago, receive_count=2)

    assert rig.queue.hidden == [("receipt-m1", 10 * 3600)]


def test_wait_that_is_longer_than_eleven_hours_is_refused_where_it_is_asked() -> None:
    with pytest.raises(ValueError, match="one-off schedule"):
        RetryLater("next week", after=timedelta(days=7))


def test_last_receive_is_dead_even_if_more_time_was_asked_for() -> None:
    rig = Rig(raising(RetryLater("busy", after=60)))

    assert rig.deliver(receive_count=5) is Verdict.DEAD

    assert rig.queue.hidden == [("receipt-m1", 0)]


@pytest.mark.parametrize("failure", [Unavailable("throttled"), Misconfigured("denied")])
def test_message_that_cannot_be_hidden_does_no_harm(failure: Exception) -> None:
    rig = Rig(raising(ValueError()))
    rig.queue.failures.append(failure)

    assert rig.deliver() is Verdict.FAILED
    assert rig.run.state is State.FAILED


def test_nothing_runs_while_the_ledger_does_not_answer() -> None:
    rig = Rig(nothing)
    rig.table.failures.append(Unavailable("throttled"))

    verdict = rig.deliver()

    assert verdict is Verdict.UNDECIDED
    assert not verdict.is_done
    assert rig.story.runs == ()
    assert rig.queue.hidden == []


def test_claim_whose_answer_was_lost_is_still_a_claim() -> None:
    """Botocore repeats the call, and our own row refuses the second one."""
    world = World()
    rig = Rig(lambda _, run: run.effect("comment", world.post, "hi"))
    update = rig.table.update

    def twice(*args: Any, **kwargs: Any) -> Any:
        update(*args, **kwargs)
        return update(*args, **kwargs)

    rig.table.update = twice

    assert rig.deliver() is Verdict.SUCCEEDED
    assert len(world.sent) == 1
    assert rig.run.attempt == 1


def test_success_that_was_not_recorded_comes_back_and_repeats_no_effect() -> None:
    world = World()

    def agent(event: Event, run: Any) -> None:
        run.effect("comment", world.post, "hi")
        if run.attempt == 1:
            rig.table.failures.append(Unavailable("throttled"))

    rig = Rig(agent)

    first = rig.deliver()
    rig.clock.advance(61)
    second = rig.deliver(receive_count=2)

    assert [first, second] == [Verdict.UNDECIDED, Verdict.SUCCEEDED]
    assert len(world.sent) == 1


def test_effect_whose_mark_failed_is_not_sent() -> None:
    world = World()

    def agent(event: Event, run: Any) -> None:
        rig.table.failures.append(Unavailable("throttled"))
        run.effect("comment", world.post, "hi")

    rig = Rig(agent)

    assert rig.deliver() is Verdict.FAILED
    assert world.sent == []


def test_event_that_expires_before_the_run_could_end_is_dead() -> None:
    """A late redrive must not repeat an effect that TTL has forgotten."""
    world = World()
    rig = Rig(lambda _, run: run.effect("comment", world.post, "hi"))
    rig.clock.instant = ISSUE.received_at + timedelta(days=45, seconds=-60)

    assert rig.deliver() is Verdict.DEAD

    assert world.sent == []
    assert rig.run.reason is not None
    assert rig.run.reason.category == "too_old"
    assert "too old to run safely" in rig.run.reason.message


def test_event_that_is_not_in_the_ledger_is_dead_with_that_reason() -> None:
    rig = Rig(nothing)

    assert rig.deliver(event_id="github:gone") is Verdict.DEAD

    row = rig.table.rows["github:gone", "run#triage"]
    assert "does not hold this event" in row["reason"]["message"]


def test_runs_beyond_the_hourly_limit_are_skipped_and_acknowledged() -> None:
    ran = []
    spec = replace(TRIAGE, max_runs_per_hour=2)
    rig = Rig(lambda event, _: ran.append(event.id), spec=spec)
    ids = [f"github:{n}" for n in range(4)]
    for each in ids:
        rig.ledger.accept(replace(ISSUE, id=each))

    verdicts = [rig.deliver(event_id=each) for each in ids]
    again = rig.deliver(event_id=ids[3], receive_count=2)

    assert verdicts == [Verdict.SUCCEEDED] * 2 + [Verdict.SKIPPED] * 2
    assert again is Verdict.ACKNOWLEDGED
    assert ran == ids[:2]
    assert verdicts[-1].is_done
    row = rig.table.rows[ids[3], "run#triage"]
    assert (row["state"], row["reason"]["category"]) == ("SKIPPED", "limit")


def test_retry_of_a_run_does_not_count_against_the_limit() -> None:
    spec = replace(TRIAGE, max_runs_per_hour=1)
    rig = Rig(raising(ValueError()), spec=spec)

    verdicts = [rig.deliver(receive_count=n) for n in (1, 2)]

    assert verdicts == [Verdict.FAILED] * 2


def test_each_thread_has_a_limit_of_its_own() -> None:
    spec = replace(TRIAGE, max_runs_per_hour=1)
    rig = Rig(nothing, spec=spec)
    for n in range(2):
        rig.ledger.accept(replace(ISSUE, id=f"github:{n}", thread=f"issue-{n}"))

    verdicts = [rig.deliver(event_id=f"github:{n}") for n in range(2)]

    assert verdicts == [Verdict.SUCCEEDED] * 2


def test_guard_that_is_switched_off_runs_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POWERTOOLS_IDEMPOTENCY_DISABLED", "true")
    ran: list[int] = []
    rig = Rig(lambda *_: ran.append(1))

    with (
        pytest.warns(UserWarning, match="Disabling idempotency"),
        pytest.raises(RuntimeError, match="no run without a claim"),
    ):
        rig.deliver()

    assert ran == []
