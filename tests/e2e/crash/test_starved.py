"""A store that is slow, short of capacity, or away: late, but once, and no loss."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from local.redrive import redrive
from local.stack import LocalStack, wait_for
from tests.e2e.crash.acting import Acting, ring_all
from tests.e2e.crash.till import Order, Till

pytestmark = pytest.mark.crash_matrix

ORDERS = 4


@pytest.fixture(autouse=True)
def _trouble_ends(kitchen: LocalStack) -> Iterator[None]:
    yield
    kitchen.trouble("")


def served(stack: LocalStack, till: Till) -> list[Acting]:
    """Ring up some orders and wait until each is at rest: done, or a dead letter."""
    orders = [Order.new("order.served") for _ in range(ORDERS)]
    acting = ring_all(stack, till, orders)
    for each in acting:
        each.rests()
    return acting


def check_once(stack: LocalStack, acting: list[Acting]) -> None:
    """All are done once the store is well; what had died is redriven."""
    dead = [each for each in acting if each.state == "DEAD"]
    assert [each.letters for each in dead] == [1] * len(dead)
    stack.trouble("")
    redrive(stack.client("sqs"), stack.queues["waiter"])
    for each in acting:
        each.waits_for("SUCCEEDED")
    assert [e.effects for e in acting] == [{"cook": 1, "serve": 1}] * len(acting)


def test_slow_store_makes_it_late(kitchen: LocalStack, till: Till) -> None:
    kitchen.trouble("dynamodb.", delay_ms=100)

    check_once(kitchen, served(kitchen, till))


def test_throttled_store_makes_it_late(kitchen: LocalStack, till: Till) -> None:
    since = kitchen.wire.mark()
    kitchen.trouble("dynamodb.", refuse_every=2)

    acting = served(kitchen, till)

    check_once(kitchen, acting)

    statuses = {call.status for call in kitchen.wire.calls(since)}
    assert 400 in statuses


def test_store_that_is_away_loses_nothing(kitchen: LocalStack, till: Till) -> None:
    """Senders are told so and come again; workers give their messages back."""
    kitchen.trouble("dynamodb.", refuse_every=1)
    since = kitchen.wire.mark()
    back = threading.Timer(4, lambda: kitchen.trouble(""))
    back.start()

    acting = served(kitchen, till)

    back.join()
    check_once(kitchen, acting)
    assert wait_for(lambda: 400 in {c.status for c in kitchen.wire.calls(since)})
