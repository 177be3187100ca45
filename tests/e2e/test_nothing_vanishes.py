"""Under load, with duplicates, poison and killed workers, every event has its end.

Accepted = succeeded + dead + unheard, to the last one, and one effect for each
that succeeded.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from cli.signers import Delivery
from cli.wire import Answer, Wire
from local.demo import post
from local.stack import LocalStack, wait_for

IN_FLIGHT = 12
ENDS = {"SUCCEEDED", "DEAD", "UNHEARD"}
# Of a hundred: heard and fine, poison, heard by nobody.
MIX = ["slack"] * 90 + ["stripe"] * 5 + ["github"] * 5
EVENTS = {
    "slack": "app_mention",
    "stripe": "charge.failed",
    "github": "pull_request.opened",
}


@dataclass
class Load:
    """What was sent, and what became of it."""

    stack: LocalStack
    sources: dict[str, str] = field(default_factory=dict)
    answers: Counter[str] = field(default_factory=Counter)

    def send(self, number: int) -> list[str]:
        """Send one event, and every tenth a second time; return its id."""
        source = MIX[number % len(MIX)]
        delivery = self._delivery(source)
        wire = Wire(self.stack.webhook_url(source))
        found = []
        for _ in range(2 if number % 10 == 7 else 1):
            answer = self._answered(wire, delivery)
            self.answers["duplicate" if answer.is_deduplicated else "new"] += 1
            found.append(str(answer.event_id))
            self.sources[str(answer.event_id)] = source
        return found

    def _delivery(self, source: str) -> Delivery:
        if source == "stripe":  # in a currency that has no account
            return post.charge(self.stack, "xaf")
        return post.signed(self.stack, source, EVENTS[source])

    def _answered(self, wire: Wire, delivery: Delivery) -> Answer:
        """As a sender does: once more after a 5xx, which a killed receiver gives."""
        answer = wire.post(delivery)
        for _ in range(5):
            if answer.is_success:
                break
            self.answers[str(answer.status)] += 1
            time.sleep(1)
            answer = wire.post(delivery)
        assert answer.is_success, answer
        return answer

    def states(self) -> dict[str, str]:
        """Return where each event of ours is, by one look at the whole ledger."""
        states = dict.fromkeys(self.sources, "QUEUED")
        pages = (
            self.stack.client("dynamodb")
            .get_paginator("scan")
            .paginate(
                TableName=self.stack.ledger_table,
                ProjectionExpression="pk, sk, #s",
                ExpressionAttributeNames={"#s": "state"},
                ConsistentRead=True,
            )
        )
        for page in pages:
            for row in page["Items"]:
                event_id, kind = row["pk"]["S"], row["sk"]["S"]
                if event_id in states and kind == "unheard":
                    states[event_id] = "UNHEARD"
                elif event_id in states and kind.startswith("run#"):
                    states[event_id] = row["state"]["S"]
        return states


def kill_two_workers(stack: LocalStack, since: int) -> list[int]:
    """Kill a worker right after its effect, twice, each a while into the load."""
    killed = []
    for _ in range(2):
        stack.arm(f"after:world.POST:1@{stack.functions['worker:counter']}")
        fired = wait_for(stack.fired, seconds=120)
        assert fired, "no worker came by"
        pid: int = fired["pid"]
        killed.append(pid)
        assert wait_for(partial(_has_ended, stack, since, pid))
        time.sleep(2)
    exits = stack.wire.exits(since)
    assert [exits[pid] for pid in killed] == [-signal.SIGKILL] * 2
    return killed


def _has_ended(stack: LocalStack, since: int, pid: int) -> bool:
    return pid in stack.wire.exits(since)


def test_accepted_is_succeeded_and_dead_and_unheard(
    stack: LocalStack, full_size: bool
) -> None:
    count = 5_000 if full_size else 300
    load = Load(stack)
    dead_before = stack.dead_letters("bookkeeper")
    since = stack.wire.mark()
    order = list(range(count))
    random.Random(9).shuffle(order)  # noqa: S311 - the same mix each time

    began = time.monotonic()
    with ThreadPoolExecutor(IN_FLIGHT + 1) as pool:
        killing = pool.submit(kill_two_workers, stack, since)
        list(pool.map(load.send, order))
        killed = killing.result()
    sent = time.monotonic() - began

    def is_over() -> bool:
        return set(load.states().values()) <= ENDS

    assert wait_for(is_over, seconds=1800 if full_size else 240, every=3), Counter(
        load.states().values()
    )

    ends = Counter(load.states().values())
    by_source = Counter(
        (load.sources[event_id], end) for event_id, end in load.states().items()
    )
    effects = Counter(
        effect["body"]["event"]
        for effect in stack.effects("counter.example")
        if effect["body"]["event"] in load.sources
        for _ in range(effect["count"])
    )
    print(f"{count} events, answers {dict(load.answers)} in {sent:.0f} s,")
    print(f"killed {killed}, ends {dict(ends)} in {time.monotonic() - began:.0f} s")
    assert len(load.sources) == load.answers["new"] == count
    assert load.answers["duplicate"] == count // 10
    assert sum(ends.values()) == count
    assert by_source == {
        ("slack", "SUCCEEDED"): count * 90 // 100,
        ("stripe", "DEAD"): count * 5 // 100,
        ("github", "UNHEARD"): count * 5 // 100,
    }
    assert set(effects.values()) == {1}
    assert len(effects) == ends["SUCCEEDED"]
    assert wait_for(
        lambda: stack.dead_letters("bookkeeper") - dead_before == ends["DEAD"]
    )
