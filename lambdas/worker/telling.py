"""What the worker logs and measures: one line per delivery that did something.

Messages of errors are not logged, they may quote a payload; the ledger keeps them
with the run.
"""

from __future__ import annotations

import traceback
from datetime import datetime
from typing import Any

from lambdas.shared.observe import Unit, count, logger, measure
from lambdas.worker.claim import Verdict
from lambdas.worker.delivery import Delivery
from lambdas.worker.runs import RunRow

_METRICS = {
    Verdict.SUCCEEDED: "RunsSucceeded",
    Verdict.FAILED: "RunsFailed",
    Verdict.SUSPENDED: "RunsSuspended",
    Verdict.DEAD: "RunsDead",
    Verdict.SKIPPED: "RunsSkipped",
}


def started(agent: str) -> None:
    """An attempt begins."""
    count("RunsStarted", Agent=agent)


def ended(
    agent: str, delivery: Delivery, verdict: Verdict, row: RunRow, now: datetime
) -> None:
    """A delivery has its verdict."""
    fields: dict[str, Any] = {
        "event_id": delivery.event_id,
        "agent": agent,
        "message_id": delivery.message_id,
        "receive_count": delivery.receive_count,
        "continues": delivery.continues,
        "attempt": row.claim.attempt if row.claim else None,
        "verdict": str(verdict),
    }
    if row.ending is not None and row.ending.reason is not None:
        reason = row.ending.reason
        fields |= {
            "category": reason.category,
            "type": reason.type,
            "downstream": reason.downstream,
            "fingerprint": reason.fingerprint,
        }
    if verdict in _METRICS:
        count(_METRICS[verdict], Agent=agent)
    match verdict:
        case Verdict.SUCCEEDED:
            seconds = (now - delivery.received_at).total_seconds()
            measure(
                "AcceptedToDoneSeconds", max(0.0, seconds), Unit.SECONDS, Agent=agent
            )
            logger.info("run succeeded", **fields)
        case Verdict.DEAD:
            logger.error("run is dead", **fields)
        case Verdict.FAILED:
            logger.warning("run failed, will be retried", **fields)
        case Verdict.SUSPENDED:
            logger.info("run handed over, goes on", **fields)
        case Verdict.GIVEN_BACK:
            logger.warning("run handed over, not carried on", **fields)
        case Verdict.STALE:
            logger.warning("run was taken over", **fields)
        case Verdict.UNDECIDED:
            logger.warning("run not started or not recorded", **fields)
        case _:
            logger.info("nothing to run", **fields)


def not_continued(delivery: Delivery, error: Exception) -> None:
    """No message could be sent that carries on a run; its own comes back at once."""
    logger.warning(
        "run not carried on",
        event_id=delivery.event_id,
        agent=delivery.agent,
        message_id=delivery.message_id,
        reason=str(error),
    )


def ledger_failed(delivery: Delivery, error: Exception) -> None:
    """The ledger did not take a claim or its end."""
    logger.warning(
        "ledger failed",
        event_id=delivery.event_id,
        agent=delivery.agent,
        message_id=delivery.message_id,
        reason=str(error),
    )


def not_ours(agent: str, message_id: str, why: str) -> None:
    """A message carries no event; SQS will move it to the dead letters."""
    logger.error(
        "message carries no event", agent=agent, message_id=message_id, why=why
    )


def not_taken(agent: str, message_id: str, error: Exception) -> None:
    """The event of a message could not be written down; the message comes back."""
    logger.warning(
        "event not taken", agent=agent, message_id=message_id, reason=str(error)
    )


def broken(agent: str, message_id: str, error: Exception) -> None:
    """The worker itself failed; the message comes back."""
    # Its text, or that of what it came upon, may quote what the agent was given: only
    # where, not what.
    logger.error(
        "worker failed",
        agent=agent,
        message_id=message_id,
        error=type(error).__name__,
        frames=traceback.format_tb(error.__traceback__)[-5:],
    )
