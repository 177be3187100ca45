"""How an attempt ends that raised: retried when, or dead why. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime

from lambdas.shared.clock import milliseconds
from lambdas.shared.errors import (
    GiveUp,
    InDoubt,
    Misconfigured,
    OutcomeUnknown,
    RetryLater,
    Unavailable,
)
from lambdas.shared.fleet import Agent
from lambdas.shared.story import Category, Reason, State
from lambdas.worker.delivery import Delivery
from lambdas.worker.holding import Ending

# Keeps the row small; the beginning of a message says what failed.
_LONGEST_MESSAGE = 1000
# 2 ** 20 seconds are longer than any back-off: keeps the power small.
_LARGEST_POWER = 20
# Anybody may go on with a run that was handed over, also a machine whose clock is
# behind: to it the message would come too early, and be acknowledged for nothing.
_CLOCKS_APART_MS = 5 * 60 * 1000


class TooOld(GiveUp):
    """The event's rows expire before the run could end: too old to run safely."""


class TooLong(GiveUp):
    """The run is longer than its agent's ``max_duration_seconds``."""


class Interrupted(Exception):
    """The worker had to stop, and nothing of this attempt was saved."""


class HandedOver(BaseException):
    """The agent has saved its work, and a later attempt goes on from there.

    No Exception: code that swallows those must not take an interrupted run for one
    that is done.
    """


class OverLimit(Exception):
    """The agent's ``max_runs_per_hour`` is used up for this thread."""


_CATEGORIES: tuple[tuple[type[BaseException], Category], ...] = (
    (OverLimit, Category.LIMIT),
    (TooOld, Category.TOO_OLD),
    (TooLong, Category.TOO_LONG),
    (Interrupted, Category.INTERRUPTED),
    (GiveUp, Category.GAVE_UP),
    (InDoubt, Category.IN_DOUBT),
    (RetryLater, Category.PASSING),
    (OutcomeUnknown, Category.PASSING),
    (Unavailable, Category.UNAVAILABLE),
    (Misconfigured, Category.SETUP),
    (Exception, Category.ERROR),
    (BaseException, Category.CRASH),
)


def ending_of(
    error: BaseException,
    delivery: Delivery,
    agent: Agent,
    now: datetime,
    chance: Callable[[float, float], float],
) -> Ending:
    """Return how the attempt ends that raised ``error``.

    ``chance(low, high)`` draws a number between the two.
    """
    now_ms = milliseconds(now)
    if isinstance(error, HandedOver):
        return Ending(state=State.SUSPENDED, due_ms=now_ms - _CLOCKS_APART_MS)
    reason = reason_of(error)
    if isinstance(error, OverLimit):
        return Ending(state=State.SKIPPED, reason=reason)
    is_last = delivery.receive_count >= agent.max_receives
    if is_last or isinstance(error, GiveUp | InDoubt):
        return Ending(state=State.DEAD, reason=reason)
    if isinstance(error, Interrupted):
        return Ending(state=State.FAILED, reason=reason, due_ms=now_ms)
    wait = _asked_for(error)
    if wait is None:
        wait = backoff_seconds(agent, delivery.receive_count, chance)
    due_ms = now_ms + math.ceil(wait * 1000)
    return Ending(state=State.FAILED, reason=reason, due_ms=due_ms)


def backoff_seconds(
    agent: Agent, receive_count: int, chance: Callable[[float, float], float]
) -> float:
    """Return how long to wait after the ``receive_count``-th receive.

    Exponential with full jitter: anything between the base and a ceiling that
    doubles with each receive, so that runs that failed together part.
    """
    base = agent.backoff_base_seconds
    doubled = base * 2 ** min(receive_count, _LARGEST_POWER)
    return chance(base, max(base, min(doubled, agent.backoff_max_seconds)))


def reason_of(error: BaseException) -> Reason:
    """Return the reason that the ledger keeps for ``error``."""
    # Imported here: their patterns take a while to compile, and most runs succeed.
    from lambdas.shared import hosts
    from lambdas.shared.blackened import blackened
    from lambdas.shared.blame import fault
    from lambdas.shared.fingerprint import fingerprint, qualified

    message = _message(error)
    category = next(c for kind, c in _CATEGORIES if isinstance(error, kind))
    downstream = hosts.downstream(error, message)
    return Reason(
        category=category,
        type=type(error).__name__,
        message=blackened(message)[:_LONGEST_MESSAGE],
        downstream=downstream,
        fingerprint=fingerprint(error, message),
        fault=fault(category, qualified(type(error)), message, downstream),
    )


def _asked_for(error: BaseException) -> float | None:
    after = error.after if isinstance(error, RetryLater | OutcomeUnknown) else None
    return None if after is None else after.total_seconds()


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as broken:
        text = f"no message: {type(broken).__name__} while it was read"
    # An empty message would say nothing to whoever opens the dead letter.
    # Longer than what is kept: half a secret at its end would not look like one.
    return text[: 2 * _LONGEST_MESSAGE] or f"{type(error).__name__} without a message"
