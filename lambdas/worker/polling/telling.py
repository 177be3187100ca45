"""What a polling worker logs and measures, beside what its runner says of each run."""

from __future__ import annotations

from typing import Any

from lambdas.shared.observe import count, logger
from lambdas.shared.story import Reason, State


def started(agent: str, pid: int, **fields: Any) -> None:
    """The worker takes messages from here on."""
    logger.info("worker started", agent=agent, pid=pid, **fields)


def stopping(agent: str, *, grace_seconds: int, event_id: str | None) -> None:
    """It was asked to stop."""
    logger.info(
        "worker is stopping",
        agent=agent,
        grace_seconds=grace_seconds,
        event_id=event_id,
    )


def stopped(agent: str) -> None:
    """It has ended in order."""
    logger.info("worker stopped", agent=agent)


def not_received(agent: str, error: Exception, again_seconds: float) -> None:
    """The queue did not answer."""
    logger.warning(
        "queue not polled",
        agent=agent,
        reason=str(error),
        again_seconds=round(again_seconds, 1),
    )


def not_beaten(agent: str, error: Exception) -> None:
    """A heartbeat failed; it is repeated soon."""
    count("HeartbeatsFailed", Agent=agent)
    logger.warning("heartbeat failed", agent=agent, reason=str(error))


def not_done(agent: str, wish: str, message_id: str, error: Exception) -> None:
    """The message was not deleted or shown as wished; it comes back later."""
    logger.warning(
        "message not as wished",
        agent=agent,
        wish=wish,
        message_id=message_id,
        reason=str(error),
    )


def killed(
    agent: str,
    why: str,
    *,
    event_id: str | None,
    message_id: str,
    exit_code: int | None,
) -> None:
    """The process of a run was ended, or ended itself."""
    count("RunsKilled", Agent=agent, Why=why)
    logger.warning(
        "run was ended from outside",
        agent=agent,
        why=why,
        event_id=event_id,
        message_id=message_id,
        exit_code=exit_code,
    )


def released(agent: str, event_id: str, state: State, reason: Reason) -> None:
    """The run whose process is gone was ended in the ledger."""
    fields: dict[str, Any] = {
        "agent": agent,
        "event_id": event_id,
        "category": reason.category,
        "type": reason.type,
        "fingerprint": reason.fingerprint,
    }
    if state is State.DEAD:
        count("RunsDead", Agent=agent)
        logger.error("run is dead", **fields)
    else:
        count("RunsFailed", Agent=agent)
        logger.warning("run failed, will be retried", **fields)


def not_released(agent: str, event_id: str, error: Exception) -> None:
    """The ledger did not take the end; the lease ends by itself."""
    logger.warning("run not ended", agent=agent, event_id=event_id, reason=str(error))


def no_child(agent: str, exit_code: int | None, tries: int) -> None:
    """The process that runs the agent did not start."""
    logger.warning("child did not start", agent=agent, exit_code=exit_code, tries=tries)


def child_lost(agent: str, exit_code: int | None) -> None:
    """The process that runs the agent ended with no run in hand; another follows."""
    logger.warning("idle child ended", agent=agent, exit_code=exit_code)


def stuck(agent: str, why: str) -> None:
    """The worker needs help."""
    count("WorkersStuck", Agent=agent)
    logger.error("worker is stuck", agent=agent, why=why)


def degraded(agent: str, why: str) -> None:
    """Less has arrived than is expected."""
    count("WorkersDegraded", Agent=agent)
    logger.warning("worker is degraded", agent=agent, why=why)


def not_protected(agent: str, error: Exception) -> None:
    """ECS did not set the task's protection."""
    logger.warning("task protection not set", agent=agent, reason=str(error))
