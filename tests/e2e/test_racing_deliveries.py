"""However often an event is delivered to a worker at once, it acts once."""

from __future__ import annotations

import json
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local.demo import post
from local.demo.telling import is_done
from local.stack import LocalStack, wait_for

EVENTS = 20
COPIES = 12  # 240 deliveries in all


def message(stack: LocalStack, event_id: str) -> str:
    """The message that the rule would send once more: EventBridge's envelope."""
    event = stack.rows(event_id)["event"]
    detail = {
        "event_id": event_id,
        "tenant": event.get("tenant"),
        "received_at": event["received_at"],
        "expires_at": int(event["expires_at"]),
        "facts": json.loads(event["facts"]),
        "actor": event.get("actor"),
        "thread": event.get("thread"),
    }
    return json.dumps(
        {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": event["kind"],
            "source": f"bellhop.{event['source']}",
            "account": "000000000000",
            "time": event["received_at"],
            "region": stack.region,
            "resources": [],
            "detail": detail,
        }
    )


def deliver_at_once(stack: LocalStack, bodies: list[str]) -> None:
    """Put all on the counter's queue, ten to a call, every call at one barrier."""
    batches = [bodies[n : n + 10] for n in range(0, len(bodies), 10)]
    start = threading.Barrier(len(batches))
    sqs: Any = stack.client("sqs")

    def send(batch: list[str]) -> None:
        entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(batch)]
        start.wait()
        sqs.send_message_batch(QueueUrl=stack.queues["counter"].url, Entries=entries)

    with ThreadPoolExecutor(len(batches)) as pool:
        list(pool.map(send, batches))


def test_racing_deliveries_of_an_event_have_one_effect(stack: LocalStack) -> None:
    ids, since = [], stack.wire.mark()
    for _ in range(EVENTS):
        answer = post.send(stack, "slack", post.signed(stack, "slack", "app_mention"))
        ids.append(str(answer.event_id))
    # Interleaved, so that copies of one event meet in different workers.
    bodies = [message(stack, event_id) for _ in range(COPIES) for event_id in ids]

    deliver_at_once(stack, bodies)

    queue = stack.queues["counter"]
    assert wait_for(
        lambda: all(is_done(stack, event_id, "counter") for event_id in ids),
        every=1,
    )
    assert wait_for(lambda: stack.waiting(queue.url) == 0, every=0.5)
    counts = dict.fromkeys(ids, 0)
    for effect in stack.effects("counter.example"):
        if effect["body"]["event"] in counts:
            counts[effect["body"]["event"]] += effect["count"]
    requests = [c for c in stack.wire.calls(since) if c.name == "world.POST"]
    workers = {
        c.pid for c in stack.wire.calls(since, stack.functions["worker:counter"])
    }
    print(f"{len(bodies)} deliveries of {EVENTS} events to {len(workers)} processes:")
    print(f"{len(requests)} requests outside, {sum(counts.values())} effects")
    assert set(counts.values()) == {1}
    assert len(workers) > 1
    assert stack.waiting(queue.dlq_url) == 0
