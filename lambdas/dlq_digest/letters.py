"""Dead letters as values, wherever they wait, and what each kind of queue tells."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from lambdas.shared.blackened import blackened
from lambdas.shared.blame import Blame, blame, fault
from lambdas.shared.fingerprint import of_words
from lambdas.shared.fleet import DLQ_RETENTION_DAYS
from lambdas.shared.hosts import told
from lambdas.shared.story import Category, Reason

RETENTION = timedelta(days=DLQ_RETENTION_DAYS)
RETENTION_MS = round(RETENTION.total_seconds() * 1000)

# The queues beside the agents' own, by who writes to them.
RULES, SCHEDULES, RELAY, ASYNC = "rules", "schedules", "relay", "async"
OTHER_QUEUES = (RULES, SCHEDULES, RELAY, ASYNC)

_LONGEST_MESSAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A message as it lies in a failure queue; ``attributes`` are its writer's."""

    id: str
    body: str
    sent_ms: int
    receipt: str
    attributes: Mapping[str, str] = field(default_factory=dict)


class Letterbox(Protocol):
    """One failure queue. All methods raise Unavailable or Misconfigured."""

    def waiting(self) -> int:
        """Return how many letters it holds, the hidden ones included."""
        ...

    def is_moving(self) -> bool:
        """Whether a redrive of the console moves its letters at this moment."""
        ...

    def receive(self, hide_seconds: int) -> list[Raw]:
        """Return up to ten letters, hidden from everybody for so long."""
        ...

    def release(self, letters: list[Raw]) -> None:
        """Show them again at once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A dead letter with its reason. Times are epoch milliseconds.

    ``agent`` is the name in the fleet, or for another queue who was to be
    reached. ``queue`` is ``agents`` or one of ``OTHER_QUEUES``.
    """

    queue: str
    agent: str
    event_id: str | None
    reason: Reason
    died_ms: int
    sent_ms: int
    message_id: str | None = None

    @property
    def expires_ms(self) -> int:
        """When SQS drops it: 14 days after its message was sent first."""
        return self.sent_ms + RETENTION_MS

    @property
    def blame(self) -> Blame:
        """Whose fault it looks like."""
        if self.reason.fault is not None:
            return Blame(self.reason.fault)
        reason = self.reason
        return fault(reason.category, reason.type, reason.message, reason.downstream)


def other(queue: str, raw: Raw) -> Letter:
    """Return the letter of a queue that no agent's queue feeds."""
    match queue:
        case "rules":
            return _undelivered(queue, raw, "TARGET_ARN", _event_id(raw.body))
        case "schedules":
            return _undelivered(queue, raw, "SCHEDULE_ARN", None)
        case "relay":
            return _parked(raw)
        case _:
            return _failed_call(raw)


def strange(queue: str, agent: str, raw: Raw, why: str) -> Letter:
    """Return the letter of a message that carries no event of ours."""
    reason = reason_of(
        "NotOurs", f"the message carries no event: {why}", Blame.UNDELIVERABLE
    )
    return _letter(queue, agent, None, raw, reason)


def reason_of(
    kind: str,
    message: str,
    fault: Blame | None = None,
    *,
    category: Category = Category.UNTOLD,
) -> Reason:
    """Return a reason that is known by its words alone."""
    downstream = told(kind, message)
    return Reason(
        category=category,
        type=kind.rpartition(".")[2] or kind,
        message=blackened(message)[:_LONGEST_MESSAGE],
        downstream=downstream,
        fingerprint=of_words(kind, message),
        fault=fault or blame(kind, message, downstream),
    )


def _letter(
    queue: str, agent: str, event_id: str | None, raw: Raw, reason: Reason
) -> Letter:
    return Letter(
        queue=queue,
        agent=agent,
        event_id=event_id,
        reason=reason,
        died_ms=raw.sent_ms,
        sent_ms=raw.sent_ms,
        message_id=raw.id,
    )


def _undelivered(queue: str, raw: Raw, arn: str, event_id: str | None) -> Letter:
    """What EventBridge or Scheduler could not deliver: it says why in attributes."""
    told_by = raw.attributes
    if "ERROR_CODE" not in told_by:
        return strange(queue, "-", raw, "nobody says why it was not delivered")
    who = _name(told_by.get(arn) or told_by.get("RULE_ARN") or "-")
    message = f"{told_by['ERROR_CODE']}: {told_by.get('ERROR_MESSAGE', '')}"
    reason = reason_of(told_by["ERROR_CODE"], message)
    if reason.fault == Blame.AGENT_BUG:
        reason = reason_of(told_by["ERROR_CODE"], message, Blame.UNDELIVERABLE)
    return _letter(queue, who, event_id, raw, reason)


def _parked(raw: Raw) -> Letter:
    value = _read(raw.body)
    if not isinstance(value.get("event_id"), str):
        return strange(RELAY, "relay", raw, "it names no event")
    message = str(value.get("reason", "no reason was given"))
    reason = reason_of("Unpublishable", message, Blame.UNDELIVERABLE)
    return _letter(RELAY, "relay", value["event_id"], raw, reason)


def _failed_call(raw: Raw) -> Letter:
    """What Lambda says of an asynchronous call that failed for good."""
    value = _read(raw.body)
    context = value.get("requestContext")
    if not isinstance(context, dict) or "functionArn" not in context:
        return strange(ASYNC, "-", raw, "it is no failed call of a function")
    answer = value.get("responsePayload")
    answer = answer if isinstance(answer, dict) else {}
    kind = str(answer.get("errorType") or context.get("condition") or "Error")
    message = str(answer.get("errorMessage") or context.get("condition") or kind)
    who = _name(str(context["functionArn"]).removesuffix(":$LATEST"))
    return _letter(ASYNC, who, None, raw, reason_of(kind, message))


def _name(arn: str) -> str:
    return arn.rpartition(":")[2].rpartition("/")[2] or arn


def _read(body: str) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _event_id(body: str) -> str | None:
    detail = _read(body).get("detail")
    found = detail.get("event_id") if isinstance(detail, dict) else None
    return found if isinstance(found, str) else None
