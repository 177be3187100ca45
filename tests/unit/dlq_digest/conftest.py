"""A digest with everything around it in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from lambdas.dlq_digest.digest import Morning, Reader
from lambdas.dlq_digest.letters import OTHER_QUEUES, Raw
from lambdas.dlq_digest.reconcile import Reconciler
from lambdas.dlq_digest.report import Links
from lambdas.dlq_digest.tell import Slack, Teller
from lambdas.shared.clock import milliseconds
from lambdas.shared.event import Content, Event
from lambdas.shared.fleet import Agent, Digest
from lambdas.shared.story import Reason, State
from tests.fakes.clock import FakeClock
from tests.fakes.ledger import FakeLedger
from tests.fakes.letters import FakeBox, FakeLogs, FakeSlack
from tests.fakes.worker import envelope

AGENTS = ("triage", "billing")


@dataclass
class Desk:
    """Where a test puts dead letters and reads what was told."""

    settings: Digest = field(default_factory=Digest)
    clock: FakeClock = field(default_factory=FakeClock)
    ledger: FakeLedger = field(default_factory=FakeLedger)
    slack: FakeSlack = field(default_factory=FakeSlack)
    logs: FakeLogs = field(default_factory=FakeLogs)
    most_known: int = 5_000

    def __post_init__(self) -> None:
        self.boxes = {name: FakeBox() for name in (*AGENTS, *OTHER_QUEUES)}
        self.agents = {
            name: Agent(name=name, run="agents.x:run", on=(), timeout_seconds=60)
            for name in AGENTS
        }
        self.numbers = 0

    @property
    def reader(self) -> Reader:
        table = self.ledger.table
        return Reader(
            agents=self.agents,
            table=table,
            reconciler=Reconciler(table, self.logs, self.clock),
            boxes=self.boxes,
            clock=self.clock,
            most_known=self.most_known,
        )

    @property
    def morning(self) -> Morning:
        hook = "https://hooks.slack.com/services/T0/B0/made-up"
        urls = {n: f"https://sqs.eu-central-1.amazonaws.com/1/{n}" for n in self.boxes}
        return Morning(
            settings=self.settings,
            reader=self.reader,
            links=Links(stack="Bellhop", region="eu-central-1", queue_urls=urls),
            teller=Teller(Slack(self.slack, lambda _: None, lambda: hook, None), None),
            audit=self.ledger.audit,
            clock=self.clock,
        )

    def event(self) -> Event:
        """Accept one more event."""
        self.numbers += 1
        event = Event(
            id=f"github:{self.numbers}",
            source="github",
            kind="issues.opened",
            occurred_at=self.clock(),
            received_at=self.clock(),
            content=Content(b"{}", "application/json"),
        )
        self.ledger.accept(event)
        return event

    def letter(self, agent: str = "triage", event: Event | None = None) -> Raw:
        """Leave a letter of an event in the agent's DLQ; its run is not written."""
        event = event or self.event()
        raw = Raw(
            id=f"message-{self.numbers}",
            body=json.dumps(envelope(event)),
            sent_ms=self.clock.ms,
            receipt=f"receipt-{self.numbers}",
        )
        self.boxes[agent].letters.append(raw)
        return raw

    def run(self, raw: Raw, agent: str = "triage", **row: Any) -> str:
        """Write the run of the last event; returns the event's id."""
        event_id = f"github:{self.numbers}"
        self.ledger.table.put(
            {
                "pk": event_id,
                "sk": f"run#{agent}",
                "state": str(State.PROCESSING),
                "attempt": 3,
                "carrier": raw.id,
                "claim_token": "t",
                "generation": 0,
                "due_at": self.clock.ms - 1000,
                "started_at": self.clock.ms - 61_000,
                "sent_at": raw.sent_ms,
                "expires_at": int((self.clock() + timedelta(days=40)).timestamp()),
                **row,
            }
        )
        return event_id

    def dead(self, agent: str = "triage", **reason: Any) -> str:
        """Leave a dead letter that the ledger knows."""
        raw = self.letter(agent)
        why = Reason(
            category="error",
            type=reason.pop("type", "HTTPError"),
            message=reason.pop("message", "503 Server Error"),
            fingerprint=reason.pop("fingerprint", "f" * 16),
            downstream=reason.pop("downstream", "portal.example.com"),
            fault=reason.pop("fault", "downstream_unavailable"),
        )
        return self.run(
            raw,
            agent,
            state=str(State.DEAD),
            attention=str(State.DEAD),
            finished_at=milliseconds(self.clock()),
            reason=why.to_row(),
        )


@pytest.fixture
def desk() -> Desk:
    return Desk()
