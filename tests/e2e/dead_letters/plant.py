"""Puts dead letters where a failing fleet would leave them, and orders on the way."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from cli import samples
from cli.signers import Draft, Signer
from cli.target import Target
from lambdas.shared import bus, clock, hosts
from lambdas.shared.blame import fault
from lambdas.shared.clock import milliseconds
from lambdas.shared.event import Content, Event
from lambdas.shared.fingerprint import frames_of, of_words
from lambdas.shared.ledger import EVENT_ROW
from lambdas.shared.story import Reason, State
from local.demo import post
from local.stack import LocalStack


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A captured failure, and the agent that it befell."""

    agent: str
    exception_type: str
    message: str
    traceback: str
    cause: str
    category: str
    downstream: str | None


def reason(failure: Failure) -> Reason:
    """Return what a worker would have written, from the words alone."""
    kind, message = failure.exception_type, failure.message
    other = hosts.told(kind, message)
    return Reason(
        category="error",
        type=kind.rpartition(".")[2],
        message=message[:1000],
        downstream=other,
        fingerprint=of_words(kind, message, frames_of(failure.traceback)),
        fault=fault("error", kind, message, other),
    )


def plant(
    target: Target, shop: LocalStack, failures: Iterable[Failure], title: str = "ok"
) -> dict[str, Failure]:
    """Leave one dead letter per failure; returns the failures by event id."""
    planted: dict[str, Failure] = {}
    by_agent: dict[str, list[tuple[str, Failure]]] = {}
    for failure in failures:
        event_id = f"github:{uuid.uuid4()}"
        planted[event_id] = failure
        by_agent.setdefault(failure.agent, []).append((event_id, failure))
    with ThreadPoolExecutor(6) as pool:
        for agent, letters in by_agent.items():
            tens = [letters[i : i + 10] for i in range(0, len(letters), 10)]
            list(pool.map(lambda ten, a=agent: _ten(target, shop, a, ten, title), tens))
    return planted


def _ten(
    target: Target,
    shop: LocalStack,
    agent: str,
    letters: Sequence[tuple[str, Failure]],
    title: str,
) -> None:
    now = clock.now() - timedelta(minutes=5)
    bodies = []
    for event_id, _ in letters:
        body = json.dumps({"issue": {"title": title}}).encode()
        event = Event(
            id=event_id,
            source="github",
            kind="planted",
            occurred_at=now,
            received_at=now,
            content=Content(body, "application/json"),
        )
        # As AWS's own: the relay leaves it alone, for it has been carried.
        target.ledger.accept(event, via="queue")
        row = target.table.get(event_id, EVENT_ROW)
        assert row is not None
        # The bus would write an id of its own into each.
        bodies.append(json.dumps({**bus.entry_of(row).envelope, "id": event_id}))
    sent = shop.client("sqs").send_message_batch(
        QueueUrl=shop.queues[agent].dlq_url,
        Entries=[
            {"Id": str(number), "MessageBody": body}
            for number, body in enumerate(bodies)
        ],
    )["Successful"]
    carriers = {int(each["Id"]): each["MessageId"] for each in sent}
    for number, (event_id, failure) in enumerate(letters):
        target.table.put(_row(event_id, failure, carriers[number]))


def _row(event_id: str, failure: Failure, carrier: str) -> dict[str, Any]:
    now = clock.now()
    return {
        "pk": event_id,
        "sk": f"run#{failure.agent}",
        "state": str(State.DEAD),
        "attention": str(State.DEAD),
        "attempt": 5,
        "carrier": carrier,
        "envelope_id": event_id,
        "claim_token": "of a worker long gone",
        "generation": 0,
        "started_at": milliseconds(now - timedelta(minutes=4)),
        "sent_at": milliseconds(now - timedelta(minutes=5)),
        "finished_at": milliseconds(now - timedelta(minutes=3)),
        "expires_at": int((now + timedelta(days=40)).timestamp()),
        "reason": reason(failure).to_row(),
    }


def order(shop: LocalStack, action: str, title: str) -> str:
    """Send a signed issue with that title; returns its event id."""
    now, delivery_id = clock.now(), str(uuid.uuid4())
    sample = samples.load("github", "issues.opened", delivery_id=delivery_id, at=now)
    body = json.loads(sample.body)
    body["action"], body["issue"]["title"] = action, title
    draft = Draft(
        event="issues.opened",
        body=json.dumps(body).encode(),
        media_type=sample.media_type,
        secret=shop.secret("github"),
        at=now,
        id=delivery_id,
    )
    answer = post.send(shop, "github", Signer("github").sign(draft))
    assert answer.status == 200, answer
    return str(answer.event_id)
