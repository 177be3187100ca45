"""A queue message, read: which event it carries to which agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from lambdas.shared.clock import rfc3339
from lambdas.shared.event import Content, Event, event_id

_OURS = "bellhop."


class Visibility(Protocol):
    """How long a received message stays hidden from everybody."""

    def hide(self, receipt: str, seconds: int) -> None:
        """Show it again ``seconds`` from now. Raises Unavailable, Misconfigured."""
        ...


class NotOurs(Exception):
    """The message is no EventBridge event: nothing can be claimed for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One receive of one message. ``sent_ms`` and the like are SQS's own times.

    ``expires_at`` is the event's, in epoch seconds. ``agent`` is the name runs
    are kept under. ``effects_generation`` is the one that operation ids are made
    of: that of the run, unless a replay keeps the effects that were made.
    ``envelope_id`` is the bus's: a dead letter keeps it when it is redriven, an
    event that is published twice has two; "" where a person wrote the message.
    """

    event_id: str
    agent: str
    message_id: str
    sent_ms: int
    first_received_ms: int
    receive_count: int
    receipt: str
    expires_at: int
    received_at: datetime
    generation: int = 0
    effects_generation: int | None = None
    envelope_id: str = ""
    #: How many messages carried the run before this one, in its present stretch.
    continues: int = 0
    #: The message as the relay wrote it; of an event that AWS told itself, nothing.
    body: bytes = b""

    def continuation(self) -> str:
        """Return the body of the message that carries the run on after this one."""
        envelope: dict[str, Any] = json.loads(self.body or b"{}")
        detail: dict[str, Any] = {
            **envelope.get("detail", {}),
            "event_id": self.event_id,
            "expires_at": self.expires_at,
            "received_at": rfc3339(self.received_at),
            "generation": self.generation,
            "continues": self.continues + 1,
        }
        if self.effects_generation is not None:
            detail["effects_generation"] = self.effects_generation
        source = self.event_id.partition(":")[0]
        head = {"source": f"{_OURS}{source}", "detail-type": "continuation"}
        if self.envelope_id:
            head["id"] = self.envelope_id
        return json.dumps({**head, **envelope, "detail": detail})

    @property
    def keeps_effects(self) -> bool:
        """Whether this is a replay that runs again and keeps what was done."""
        kept = self.effects_generation
        return kept is not None and kept < self.generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """An SQS record and the EventBridge envelope in it."""

    id: str
    sent_ms: int
    first_received_ms: int
    receive_count: int
    receipt: str
    envelope: Mapping[str, Any]
    body: bytes

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Message:
        """Read the record of a Lambda event.

        Raises:
            NotOurs: its body is not an EventBridge envelope.
        """
        envelope = _envelope(record["body"])
        told = record["attributes"]
        sent_ms = int(told["SentTimestamp"])
        return cls(
            id=record["messageId"],
            sent_ms=sent_ms,
            first_received_ms=int(
                told.get("ApproximateFirstReceiveTimestamp", sent_ms)
            ),
            receive_count=int(told["ApproximateReceiveCount"]),
            receipt=record["receiptHandle"],
            envelope=envelope,
            body=record["body"].encode("utf-8", "surrogatepass"),
        )

    @property
    def is_from_relay(self) -> bool:
        """Whether the event is in the ledger already; else AWS told it directly."""
        return str(self.envelope["source"]).startswith(_OURS)

    @property
    def envelope_id(self) -> str:
        """The id that the bus gave to this publication of the event, or ""."""
        told = self.envelope.get("id")
        return told if isinstance(told, str) else ""

    def delivery(self, agent: str) -> Delivery:
        """Return what a message of the relay carries.

        Raises:
            NotOurs: its detail is not the relay's.
        """
        try:
            detail = self.envelope["detail"]
            return self.carrying(
                agent,
                event_id=_text(detail["event_id"]),
                expires_at=int(detail["expires_at"]),
                received_at=_instant(detail["received_at"]),
                generation=int(detail.get("generation", 0)),
                effects_generation=_whole(detail.get("effects_generation")),
                continues=int(detail.get("continues", 0)),
                body=self.body,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise NotOurs(f"not a detail of the relay: {error!r}") from error

    def carrying(
        self,
        agent: str,
        *,
        event_id: str,
        expires_at: int,
        received_at: datetime,
        generation: int = 0,
        effects_generation: int | None = None,
        continues: int = 0,
        body: bytes = b"",
    ) -> Delivery:
        """Return this message as the delivery of that event."""
        return Delivery(
            event_id=event_id,
            agent=agent,
            message_id=self.id,
            sent_ms=self.sent_ms,
            first_received_ms=self.first_received_ms,
            receive_count=self.receive_count,
            receipt=self.receipt,
            expires_at=expires_at,
            received_at=received_at,
            generation=generation,
            effects_generation=effects_generation,
            continues=continues,
            body=body,
            envelope_id=self.envelope_id,
        )

    def aws_event(self, now: datetime) -> Event:
        """Return the event that AWS told directly; its body is the envelope.

        An envelope without detail is an event all the same: its kind tells it.
        One that an effect put (``agents.effects.bus``) has its operation id as
        its id, so that one put twice is one event.

        The detail's flat values are not facts: the rule that brought it here
        has matched the envelope itself.

        Raises:
            NotOurs: the envelope lacks its id or time.
        """
        try:
            source = _text(self.envelope["source"])
            return Event(
                id=event_id("aws", f"{source}:{self._told_id(source)}"),
                source="aws",
                kind=_text(self.envelope["detail-type"]),
                occurred_at=_instant(self.envelope["time"]),
                received_at=now,
                content=Content(self.body, "application/json"),
                tenant=self.envelope.get("account"),
                facts={"source": source, "region": self.envelope.get("region")},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise NotOurs(f"not an AWS event: {error!r}") from error

    def _told_id(self, source: str) -> str:
        detail = self.envelope.get("detail")
        ours = detail.get("bellhop") if isinstance(detail, dict) else None
        # Only AWS may use its sources, and its details hold no word of ours.
        if source.startswith("aws.") or not isinstance(ours, dict):
            return _text(self.envelope["id"])
        return _text(ours.get("operation_id"))


def _envelope(body: str) -> Mapping[str, Any]:
    try:
        envelope = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotOurs("not JSON") from error
    wanted = ("source", "detail-type")
    if not isinstance(envelope, dict) or any(name not in envelope for name in wanted):
        raise NotOurs("not an EventBridge event")
    return envelope


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"want text, got {type(value).__name__}")
    return value


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    return instant.replace(tzinfo=instant.tzinfo or UTC).astimezone(UTC)
