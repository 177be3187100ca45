"""What the tests of the actors share: their runs, messages, effects and processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from lambdas.shared import bus
from lambdas.shared.adapters.eventbridge import EventBridge
from local.stack import LocalStack, wait_for
from tests.e2e.crash.matrix import effects_of, letters_of
from tests.e2e.crash.till import Order, Till
from tests.e2e.test_racing_deliveries import message

NEIGHBOURS = 10
BAD = (
    *("unheard", "leave", "recurse", "no json", "twice"),
    *("late", "fork", "vanish", "hang"),
)
AGENTS = {
    "order.acted": "actor",
    "order.napped": "napper",
    "order.served": "waiter",
    "order.long": "marathon",
}


class Acting:
    """One order, from the moment that the till has rung it up."""

    def __init__(self, stack: LocalStack, till: Till, order: Order) -> None:
        self.stack = stack
        self.order = order
        self.agent = AGENTS[order.kind]
        self.queue = stack.queues[self.agent]
        till.ring(order)

    @property
    def run(self) -> dict[str, Any]:
        """The row of the run; empty before there is one."""
        return self.stack.rows(self.order.event_id).get(f"run#{self.agent}", {})

    @property
    def state(self) -> str:
        return str(self.run.get("state", "QUEUED"))

    @property
    def effects(self) -> dict[str, int]:
        return dict(effects_of(self.stack, self.order))

    @property
    def letters(self) -> int:
        return letters_of(self.stack, self.agent)[self.order.event_id]

    def waits_for(self, state: str) -> None:
        assert wait_for(lambda: self.state == state), self.run

    def is_at_rest(self) -> bool:
        done = self.state in {"SUCCEEDED", "DEAD"}
        return done and self.stack.waiting(self.queue.url) == 0

    def rests(self) -> None:
        """Wait until it is over and no message of its queue is left."""
        assert wait_for(self.is_at_rest, every=0.3), self.run

    def sends(self, times: int = 1, *, delay: int = 0, **detail: Any) -> None:
        """Send its message once more: a duplicate, or a replay."""
        body = json.loads(message(self.stack, self.order.event_id))
        body["detail"] |= detail
        for _ in range(times):
            self.stack.client("sqs").send_message(
                QueueUrl=self.queue.url,
                MessageBody=json.dumps(body),
                DelaySeconds=delay,
            )

    def is_published(self, times: int = 1) -> None:
        """Publish its event once more, as the relay does that lost its answer."""
        row = self.stack.rows(self.order.event_id)["event"]
        publisher = EventBridge(self.stack.bus, lambda: self.stack.client("events"))
        for _ in range(times):
            assert publisher.publish([bus.entry_of(row)]) == []

    def held(self) -> int:
        """Return the process that waits for the answer to its effect ``hold``."""

        def process() -> int | None:
            for effect in self.stack.effects("-hold"):
                if effect["body"]["order"] == self.order.id:
                    return int(effect["pid"])
            return None

        pid = wait_for(process, every=0.05)
        assert pid is not None
        return int(pid)


def ring_all(stack: LocalStack, till: Till, orders: Sequence[Order]) -> list[Acting]:
    with ThreadPoolExecutor(len(orders)) as pool:
        return list(pool.map(lambda order: Acting(stack, till, order), orders))


@dataclass(frozen=True, kw_only=True)
class Misdeeds:
    """Orders of bad acts, one of each, and those of their neighbours."""

    bad: dict[str, Acting]
    neighbours: list[Acting]

    @classmethod
    def begun(cls, stack: LocalStack, till: Till) -> Misdeeds:
        """Let all begin; returns when each has."""
        bad = [Order.new("order.acted", "effect", act) for act in BAD]
        good = [Order.new("order.acted", "effect") for _ in range(NEIGHBOURS)]
        acting = ring_all(stack, till, [*bad, *good])
        assert wait_for(lambda: all(each.run for each in acting), every=1)
        return cls(
            bad=dict(zip(BAD, acting, strict=False)), neighbours=acting[len(BAD) :]
        )
