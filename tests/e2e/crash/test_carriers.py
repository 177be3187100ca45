"""The carrier rule on the engine: real messages, real processes, each line shown."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from local.redrive import redrive
from local.stack import LocalStack, wait_for
from tests.e2e.crash.acting import Acting
from tests.e2e.crash.till import Order, Till

pytestmark = pytest.mark.crash_matrix

# Six times the napper's time-out. A lease ends five seconds before its message shows.
VISIBILITY_SECONDS = 24
LONG_SECONDS = 40


@pytest.fixture(autouse=True)
def _enough_time(kitchen: LocalStack) -> Iterator[None]:
    """Give the napper more time than its lease, so that the lease is what ends."""
    function = kitchen.functions["worker:napper"]
    lambdas = kitchen.client("lambda")
    lambdas.update_function_configuration(FunctionName=function, Timeout=60)
    yield
    set_visibility(kitchen, VISIBILITY_SECONDS)


def napped(stack: LocalStack, till: Till, *do: str) -> Acting:
    return Acting(stack, till, Order.new("order.napped", *do))


def hold(stack: LocalStack, path: str, *, seconds: float, times: int = 1) -> None:
    """Let the answer to an effect wait so long; the effect itself does not."""
    stack.behave(f"/honours.example/{path}", delay_ms=int(seconds * 1000), times=times)


def test_duplicates_at_every_stage_change_nothing(
    kitchen: LocalStack, till: Till
) -> None:
    """Queued, in progress, failed, due again, in progress again, done."""
    hold(kitchen, "1-hold", seconds=1)
    order = napped(kitchen, till, "effect", "hold", "fail once", "effect")
    states = []
    while "SUCCEEDED" not in states:
        states.append(order.state)
        order.sends()
        time.sleep(0.25)
        assert len(states) < 200, states
    order.rests()

    assert {"PROCESSING", "FAILED", "SUCCEEDED"} <= set(states)
    assert (order.state, order.run["attempt"], order.letters) == ("SUCCEEDED", 2, 0)
    assert order.effects == {"0-effect": 1, "1-hold": 1, "3-effect": 1}


def test_duplicate_sent_before_a_run_died_does_not_wake_it(
    kitchen: LocalStack, till: Till
) -> None:
    order = napped(kitchen, till, "effect", "give up once", "effect")
    order.sends(delay=5)

    order.rests()

    assert (order.state, order.run["attempt"], order.letters) == ("DEAD", 1, 1)
    assert order.effects == {"0-effect": 1}


def test_event_that_is_published_again_after_its_death_stays_dead(
    kitchen: LocalStack, till: Till
) -> None:
    """The relay lost its answer; its second message is sent after the run died."""
    order = napped(kitchen, till, "effect", "give up once", "effect")
    order.waits_for("DEAD")

    order.is_published(times=2)

    order.rests()
    assert (order.state, order.run["attempt"], order.letters) == ("DEAD", 1, 1)
    redrive(kitchen.client("sqs"), kitchen.queues["napper"])
    order.waits_for("SUCCEEDED")
    order.rests()
    assert (order.run["attempt"], order.letters) == (2, 0)
    assert order.effects == {"0-effect": 1, "2-effect": 1}


def test_redrive_and_replays_pressed_at_once_are_one_run(
    kitchen: LocalStack, till: Till
) -> None:
    """Two before it begins, three while it is going, one when it is done."""
    order = napped(kitchen, till, "effect", "give up once", "hold", "effect")
    assert wait_for(lambda: order.letters == 1)
    hold(kitchen, "2-hold", seconds=1)

    redrive(kitchen.client("sqs"), kitchen.queues["napper"])
    order.sends(2)
    order.held()
    order.sends(3)
    order.waits_for("SUCCEEDED")
    order.sends()
    order.rests()

    assert (order.run["attempt"], order.letters) == (2, 0)
    assert order.effects == {"0-effect": 1, "2-hold": 1, "3-effect": 1}


def test_replay_for_fresh_effects_pressed_twice_makes_them_once(
    kitchen: LocalStack, till: Till
) -> None:
    order = napped(kitchen, till, "effect")
    order.waits_for("SUCCEEDED")

    order.sends(2, generation=1)
    assert wait_for(lambda: order.run.get("generation") == 1)
    order.rests()

    assert (order.state, order.run["attempt"]) == ("SUCCEEDED", 2)
    assert order.effects == {"0-effect": 2}  # one of each generation


def test_message_that_comes_while_a_dead_worker_is_leased_is_not_the_last(
    kitchen: LocalStack, till: Till
) -> None:
    """It is acknowledged, because the carrier comes back after the lease."""
    set_visibility(kitchen, LONG_SECONDS)
    hold(kitchen, "0-hold", seconds=1)
    order = napped(kitchen, till, "hold", "effect")
    os.kill(order.held(), signal.SIGKILL)
    carrier = order.run["carrier"]

    order.sends()

    assert wait_for(lambda: kitchen.waiting(order.queue.url) == 1)
    assert (order.state, order.run["carrier"]) == ("PROCESSING", carrier)
    order.rests()
    assert (order.state, order.run["carrier"]) == ("SUCCEEDED", carrier)
    assert order.effects == {"0-hold": 1, "1-effect": 1}


def test_message_that_comes_after_the_lease_of_a_dead_worker_takes_over(
    kitchen: LocalStack, till: Till
) -> None:
    set_visibility(kitchen, LONG_SECONDS)
    hold(kitchen, "0-hold", seconds=1)
    order = napped(kitchen, till, "hold", "effect")
    os.kill(order.held(), signal.SIGKILL)
    carrier = order.run["carrier"]
    after_its_lease(order)

    order.sends()
    order.waits_for("SUCCEEDED")

    assert order.run["carrier"] != carrier
    assert kitchen.waiting(order.queue.url) == 1
    order.rests()
    assert order.run["attempt"] == 2
    assert order.effects == {"0-hold": 1, "1-effect": 1}


def test_carrier_seen_again_during_its_lease_waits_for_the_end(
    kitchen: LocalStack, till: Till
) -> None:
    """A queue that hides for too short a time, as when SQS delivers twice at once."""
    for number in range(5):
        hold(kitchen, f"{number}-hold", seconds=2)
    set_visibility(kitchen, 1)
    since = kitchen.wire.mark()
    order = napped(kitchen, till, *["hold"] * 5)

    def waits() -> bool:
        calls = kitchen.wire.counts(since, kitchen.functions["worker:napper"])
        return calls["sqs.ChangeMessageVisibility"] > 0

    assert wait_for(waits)
    assert order.state == "PROCESSING"
    set_visibility(kitchen, VISIBILITY_SECONDS)
    order.rests()
    assert (order.state, order.run["attempt"], order.letters) == ("SUCCEEDED", 1, 0)
    assert order.effects == {f"{number}-hold": 1 for number in range(5)}


def test_worker_paused_beyond_its_lease_changes_and_acknowledges_nothing(
    kitchen: LocalStack, till: Till
) -> None:
    set_visibility(kitchen, LONG_SECONDS)
    hold(kitchen, "0-hold", seconds=1)
    order = napped(kitchen, till, "hold", "effect")
    paused = order.held()
    os.kill(paused, signal.SIGSTOP)
    after_its_lease(order)
    order.sends()
    order.waits_for("SUCCEEDED")
    rows = kitchen.rows(order.order.event_id)
    since = kitchen.wire.mark()

    os.kill(paused, signal.SIGCONT)

    function = kitchen.functions["worker:napper"]
    wire = kitchen.wire
    assert wait_for(lambda: wire.counts(since, function)["dynamodb.UpdateItem"])
    assert paused in {call.pid for call in wire.calls(since, function)}
    time.sleep(1)
    assert kitchen.rows(order.order.event_id) == rows
    # Its message is still there: it comes back, and only then is acknowledged.
    assert kitchen.waiting(order.queue.url) == 1
    order.rests()
    assert order.run["attempt"] == 2
    assert order.effects == {"0-hold": 1, "1-effect": 1}


def after_its_lease(order: Acting) -> None:
    """Return when whoever works on it may do so no longer."""
    lease_ends = int(order.run["due_at"]) / 1000
    time.sleep(max(0.0, lease_ends - time.time()) + 0.3)


def set_visibility(stack: LocalStack, seconds: int) -> None:
    stack.client("sqs").set_queue_attributes(
        QueueUrl=stack.queues["napper"].url,
        Attributes={"VisibilityTimeout": str(seconds)},
    )
