"""A worker with everything around it in memory, and a world that counts effects."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from lambdas.shared.clock import rfc3339
from lambdas.shared.errors import RetryLater
from lambdas.shared.event import Content, Event
from lambdas.shared.fleet import Agent
from lambdas.shared.ledger import Bodies, TableLedger
from lambdas.shared.story import RunRecord, Story
from lambdas.shared.table import Table
from lambdas.worker.claim import Claim, Verdict
from lambdas.worker.delivery import Delivery, Message
from lambdas.worker.runner import Ports, Runner
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.ledger import FakeBodies, FakeTable

LEDGER_DAYS = 45
_TOKENS = itertools.count(1)
# The bus's id of the one publication that all messages carry, unless told otherwise.
ENVELOPE_ID = "0b2d4f5c-6f6c-4bd1-9f0e-2a6b1c8d9e0f"
TRIAGE = Agent(name="triage", run="agents.triage:run", on=(), timeout_seconds=60)
ISSUE = Event(
    id="github:72d3162e",
    source="github",
    kind="issues.opened",
    occurred_at=NOON,
    received_at=NOON,
    content=Content(b'{"issue":{"number":7}}', "application/json"),
    tenant="acme",
)


@dataclass
class FakeTime:
    """A :class:`lambdas.worker.host.Host` whose time stands still.

    ``claims`` holds what it was told was claimed; ``signs`` counts signs of life.
    """

    milliseconds: int = 60_000
    stopping: bool = False
    invocation: Mapping[str, str] | None = None
    claims: list[Claim] = field(default_factory=list)
    signs: int = 0

    def claimed(self, claim: Claim) -> None:
        self.claims.append(claim)

    def alive(self) -> None:
        self.signs += 1

    def get_remaining_time_in_millis(self) -> int:
        return self.milliseconds


@dataclass
class Invocation(FakeTime):
    """A :class:`FakeTime` that runs out as the clock goes on, as Lambda's does."""

    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.ends_ms = self.clock.ms + self.milliseconds

    def get_remaining_time_in_millis(self) -> int:
        return self.ends_ms - self.clock.ms


class FakeQueue:
    """A :class:`lambdas.worker.delivery.Visibility`; ``hidden`` says what was asked."""

    def __init__(self) -> None:
        self.hidden: list[tuple[str, int]] = []
        self.failures: list[Exception] = []
        #: What was sent to it, and failures of that.
        self.sent: list[str] = []
        self.refusals: list[Exception] = []

    def hide(self, receipt: str, seconds: int) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.hidden.append((receipt, seconds))

    def send(self, body: str) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.sent.append(body)


class World:
    """The other side: an effect that remembers every operation id it was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.failures: list[BaseException] = []

    def post(self, text: str, *, operation_id: str) -> dict[str, Any]:
        """Count; then fail, if a failure waits: the answer was lost."""
        self.sent.append(operation_id)
        if self.failures:
            raise self.failures.pop(0)
        return {"text": text, "number": len(self.sent)}


class Rig:
    """A runner over any table; one event is accepted already."""

    def __init__(
        self,
        agent: Callable[[Event, Any], Any],
        *,
        table: Table | None = None,
        bodies: Bodies | None = None,
        spec: Agent = TRIAGE,
        chance: Callable[[float, float], float] = max,
        secret_of: Callable[[str], str] = "value of {}".format,
    ) -> None:
        self.clock = FakeClock()
        self.table: Any = FakeTable() if table is None else table
        self.bodies: Any = FakeBodies() if bodies is None else bodies
        self.queue = FakeQueue()
        self.ledger = TableLedger(self.table, self.bodies, ledger_days=LEDGER_DAYS)
        self.time: FakeTime = FakeTime(spec.timeout_seconds * 1000)
        self.spec = spec
        self.ports = Ports(
            ledger=self.ledger,
            table=self.table,
            bodies=self.bodies,
            queue=self.queue,
            send=self.queue.send,
            ticking=lambda: self.clock.ms / 1000,
            secret_of=secret_of,
            clock=self.clock,
            chance=chance,
            token=lambda: f"token-{next(_TOKENS)}",
        )
        self.runner = Runner(spec, self.ports, load=lambda *_: agent)
        self.ledger.accept(ISSUE)

    def delivery(self, message_id: str = "m1", **changes: Any) -> Delivery:
        """Return a first receive, sent just now."""
        made = Delivery(
            event_id=ISSUE.id,
            agent=self.spec.key,
            message_id=message_id,
            sent_ms=self.clock.ms,
            first_received_ms=self.clock.ms,
            receive_count=1,
            receipt=f"receipt-{message_id}",
            expires_at=self.ledger.expires_at(ISSUE),
            received_at=ISSUE.received_at,
            envelope_id=ENVELOPE_ID,
        )
        return replace(made, **changes)

    def deliver(self, message_id: str = "m1", **changes: Any) -> Verdict:
        return self.runner.run(self.delivery(message_id, **changes), self.time)

    def invoke(self, message_id: str = "m1", **changes: Any) -> Verdict:
        """Deliver as Lambda does: the time runs out with the clock."""
        delivery = self.delivery(message_id, **changes)
        return self.runner.run(delivery, self.invocation())

    def invocation(self) -> Invocation:
        limit_ms = self.spec.timeout_seconds * 1000
        self.time = Invocation(limit_ms, clock=self.clock)
        return self.time

    def carry_on(self, **changes: Any) -> Verdict:
        """Deliver the message that was sent last to carry on the run."""
        number = len(self.queue.sent)
        told = record(
            self.queue.sent[-1],
            message_id=f"continuation-{number}",
            sent_ms=self.clock.ms,
            **changes,
        )
        return self.runner.take(Message.from_record(told), self.invocation())

    def take(self, record: dict[str, Any]) -> Verdict:
        return self.runner.take(Message.from_record(record), self.time)

    @property
    def story(self) -> Story:
        story = self.ledger.story(ISSUE.id)
        assert story is not None
        return story

    @property
    def run(self) -> RunRecord:
        (run,) = self.story.runs
        return run


def record(
    envelope: Any, *, message_id: str = "m1", receive_count: int = 1, sent_ms: int = 0
) -> dict[str, Any]:
    """Return an SQS record as Lambda hands it over; text is put in as it is."""
    sent = str(sent_ms or int(NOON.timestamp() * 1000))
    return {
        "messageId": message_id,
        "receiptHandle": f"receipt-{message_id}",
        "body": envelope if isinstance(envelope, str) else json.dumps(envelope),
        "attributes": {
            "ApproximateReceiveCount": str(receive_count),
            "SentTimestamp": sent,
            "SenderId": "AIDAIT2UOQQY3AUEKVGXU",
            "ApproximateFirstReceiveTimestamp": sent,
        },
        "messageAttributes": {},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:triage",
        "awsRegion": "eu-central-1",
    }


def envelope(event: Event = ISSUE, **detail: Any) -> dict[str, Any]:
    """Return what the relay's entry becomes on the agent's queue."""
    expires_at = int(event.received_at.timestamp()) + LEDGER_DAYS * 86_400
    return {
        "version": "0",
        "id": ENVELOPE_ID,
        "detail-type": event.kind,
        "source": f"bellhop.{event.source}",
        "account": "123456789012",
        "time": "2026-11-29T12:00:00Z",
        "region": "eu-central-1",
        "resources": [],
        "detail": {
            "event_id": event.id,
            "tenant": event.tenant,
            "received_at": rfc3339(event.received_at),
            "expires_at": expires_at,
            "facts": {},
            "actor": None,
            "thread": None,
            **detail,
        },
    }


def utc(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


MakeRig = Callable[..., Rig]


class Script:
    """An agent that does what the next entry says: nothing, or raise."""

    def __init__(self, *outcomes: BaseException | None) -> None:
        self.outcomes = list(outcomes)
        self.attempts: list[int] = []

    def __call__(self, _: Event, run: Any) -> None:
        self.attempts.append(run.attempt)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome is not None:
            raise outcome


def fails_once(run: Any) -> None:
    """Fail the first attempt, after whatever it did."""
    if run.attempt == 1:
        raise RetryLater("busy")


def deliver_twice(rig: Rig) -> list[Verdict]:
    """Deliver one message, and again when its back-off is over."""
    first = rig.deliver("m1")
    rig.clock.advance(10)
    return [first, rig.deliver("m1", receive_count=2)]
