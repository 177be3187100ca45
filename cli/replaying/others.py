"""Letters of the queues that no agent's queue feeds, each sent by its own way."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from cli.replaying.places import Places
from cli.target import Target
from lambdas.dlq_digest.letters import (
    ASYNC,
    RELAY,
    RULES,
    SCHEDULES,
    Letter,
    Raw,
    other,
)
from lambdas.shared import bus
from lambdas.shared.adapters.eventbridge import EventBridge
from lambdas.shared.errors import BellhopError
from lambdas.shared.ledger import EVENT_ROW

_HIDE_SECONDS = 300


class Kept(Exception):
    """A letter stays where it is; the message says why."""


@dataclass(kw_only=True)
class Moved:
    """What became of a queue's letters."""

    found: int = 0
    sent: int = 0
    kept: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Other:
    """Works on one such queue."""

    target: Target
    places: Places
    queue: str
    chosen: Callable[[Letter], bool]

    def replay(self, *, is_dry: bool, step: Callable[[], None]) -> Moved:
        """Send every chosen letter on its way; one that cannot go is kept."""
        box = self.places.other(self.queue)
        moved = Moved()
        rest: list[Raw] = []
        try:
            for raw in _all(box):
                letter = other(self.queue, raw)
                if not self.chosen(letter):
                    rest.append(raw)
                    continue
                moved.found += 1
                if is_dry:
                    rest.append(raw)
                    continue
                try:
                    self._send(raw)
                except (Kept, BellhopError, ClientError) as error:
                    moved.kept.append(f"{raw.id}: {' '.join(str(error).split())}")
                    rest.append(raw)
                else:
                    box.delete(raw.receipt)
                    moved.sent += 1
                step()
        finally:
            box.release(rest)
        return moved

    def _send(self, raw: Raw) -> None:
        match self.queue:
            case "rules":
                self._to_queue(raw.attributes.get("TARGET_ARN", ""), raw.body)
            case "schedules":
                self._to_target(raw)
            case "relay":
                self._publish(raw)
            case _:
                self._call_again(raw)

    def _to_queue(self, arn: str, body: str) -> None:
        name = arn.rpartition(":")[2]
        for agent in self.places.agents():
            url = self.places.queue(agent)
            if name and url.rpartition("/")[2] == name:
                self.target.client("sqs").send_message(QueueUrl=url, MessageBody=body)
                return
        raise Kept(f"its target {name or 'is not told'!r} is no agent's queue now")

    def _to_target(self, raw: Raw) -> None:
        """Do what the schedule would have done: call its function, or send."""
        arn = raw.attributes.get("TARGET_ARN", "")
        if ":lambda:" in arn:
            self._call(arn, raw.body)
        else:
            self._to_queue(arn, raw.body)

    def _publish(self, raw: Raw) -> None:
        event_id = _object(raw.body).get("event_id")
        row = self.target.table.get(str(event_id), EVENT_ROW)
        if row is None:
            raise Kept(f"the ledger does not hold {event_id}")
        publisher = EventBridge(self.target.bus, lambda: self.target.client("events"))
        for refusal in publisher.publish([bus.entry_of(row)]):
            raise Kept(f"the bus refuses {event_id}: {refusal.reason}")

    def _call_again(self, raw: Raw) -> None:
        told = _object(raw.body)
        context = told.get("requestContext")
        arn = context.get("functionArn", "") if isinstance(context, dict) else ""
        if not arn:
            raise Kept("it names no function")
        self._call(arn, json.dumps(told.get("requestPayload", {})))

    def _call(self, arn: str, payload: str) -> None:
        """Call one of this stack's own functions; nobody else's may be named."""
        name = arn.removesuffix(":$LATEST").rpartition(":")[2]
        own = "Bellhop" if self.target.is_local else self.target.name
        if not name.startswith(f"{own}-"):
            raise Kept(f"{name or 'its target'} is no function of this stack")
        self.target.client("lambda").invoke(
            FunctionName=name, InvocationType="Event", Payload=payload.encode()
        )


QUEUES = (RULES, SCHEDULES, RELAY, ASYNC)


def _all(box: Any) -> Iterator[Raw]:
    seen: set[str] = set()
    while True:
        batch = box.receive(_HIDE_SECONDS)
        fresh = [raw for raw in batch if raw.id not in seen]
        if not fresh:
            return
        seen.update(raw.id for raw in fresh)
        yield from fresh


def _object(body: str) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
