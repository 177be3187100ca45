"""Under load, with duplicates, poison and killed workers, every event has its end.

Accepted = succeeded + dead + unheard, to the last one, and one effect for each
that succeeded.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import pytest

from cli.signers import Delivery
from cli.wire import Answer, Wire
from local import up
from local.demo import post
from local.demo.story import FLEET as DEMO
from local.home import Home
from local.stack import LocalStack, wait_for

IN_FLIGHT = 12
ENDS = {"SUCCEEDED", "DEAD", "UNHEARD"}
# Time enough for a run on a machine that is busy, and receives enough for the killed.
CALM = {
    "timeout_seconds = 3": "timeout_seconds = 10",
    "max_receives = 3": "max_receives = 5",
}
# Of a hundred: heard and fine, poison, heard by nobody.
MIX = ["slack"] * 90 + ["stripe"] * 5 + ["github"] * 5
EVENTS = {
    "slack": "app_mention",
    "stripe": "charge.failed",
    "github": "pull_request.opened",
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The demo's fleet, with more patience."""
    folder = tmp_path_factory.mktemp("load")
    shutil.copytree(DEMO.parent / "agents", folder / "agents")
    text = DEMO.read_text(encoding="utf-8")
    for hasty, calm in CALM.items():
        text = text.replace(hasty, calm)
    (folder / "fleet.toml").write_text(text, encoding="utf-8")
    home = Home(folder / "local")
    with up.running(home, fleet=folder / "fleet.toml") as running:
        yield running


@dataclass
class Load:
    """What was sent, and what became of it."""

    stack: LocalStack
    sources: dict[str, str] = field(default_factory=dict)
    answers: Counter[str] = field(default_factory=Counter)
    letters: Counter[str] = field(default_factory=Counter)

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
        for event_id in self.letters:
            # A run whose worker was killed at its last receive has nobody to write
            # that it is dead: its letter says so, until the digest does.
            if states.get(event_id, "SUCCEEDED") != "SUCCEEDED":
                states[event_id] = "DEAD"
        return states

    def read_letters(self) -> None:
        """Note whose messages lie in a dead letter queue; they stay there."""
        sqs = self.stack.client("sqs")
        for queue in self.stack.queues.values():
            while messages := sqs.receive_message(
                QueueUrl=queue.dlq_url, MaxNumberOfMessages=10, VisibilityTimeout=3600
            ).get("Messages"):
                for message in messages:
                    detail = json.loads(message["Body"])["detail"]
                    self.letters[detail["event_id"]] += 1


def kill_two_workers(stack: LocalStack, since: int) -> list[int]:
    """Kill a worker right after its effect, twice, each a while into the load."""
    killed = []
    for _ in range(2):
        stack.arm(f"after:world.POST:1@{stack.functions['worker:counter']}")
        fired = wait_for(stack.fired)
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


def check_answers(load: Load, count: int) -> None:
    """Each event was new once, and every tenth came twice.

    An answer of the ledger's that comes too late is asked for again, and the second
    says that the event is there: to its sender a duplicate that it never sent.
    """
    late = count - load.answers["new"]
    assert len(load.sources) == count
    assert 0 <= late <= count // 100
    assert load.answers["duplicate"] == count // 10 + late


def test_accepted_is_succeeded_and_dead_and_unheard(
    loaded: LocalStack, full_size: bool
) -> None:
    count = 5_000 if full_size else 300
    load = Load(loaded)
    since = loaded.wire.mark()
    order = list(range(count))
    random.Random(9).shuffle(order)  # noqa: S311 - the same mix each time

    began = time.monotonic()
    with ThreadPoolExecutor(IN_FLIGHT + 1) as pool:
        killing = pool.submit(kill_two_workers, loaded, since)
        list(pool.map(load.send, order))
        killed = killing.result()
    sent = time.monotonic() - began

    def is_over() -> bool:
        load.read_letters()
        return set(load.states().values()) <= ENDS

    wait_for(is_over, seconds=1800 if full_size else 360, every=5)

    states = load.states()
    ends = Counter(states.values())
    by_source = Counter((load.sources[name], end) for name, end in states.items())
    effects = Counter(
        effect["body"]["event"]
        for effect in loaded.effects("counter.example")
        for _ in range(effect["count"])
    )
    print(f"{count} events, answers {dict(load.answers)} in {sent:.0f} s,")
    print(f"killed {killed}, ends {dict(ends)} in {time.monotonic() - began:.0f} s")
    check_answers(load, count)
    assert count == ends["SUCCEEDED"] + ends["DEAD"] + ends["UNHEARD"]
    assert by_source["stripe", "DEAD"] == count * 5 // 100
    assert by_source["github", "UNHEARD"] == count * 5 // 100
    # On a machine that is too busy a run may use up its receives; it is a letter then.
    assert by_source["slack", "SUCCEEDED"] >= count * 88 // 100
    assert set(effects.values()) == {1}
    done = {name for name, end in states.items() if end == "SUCCEEDED"}
    assert done <= effects.keys()
    assert set(load.letters.values()) == {1}
    assert load.letters.keys() == {n for n, end in states.items() if end == "DEAD"}
