"""Why a run was ended from outside, and how it ends for that. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum

from lambdas.shared.fleet import Agent
from lambdas.shared.story import Category, Reason, State
from lambdas.worker.ending import backoff_seconds
from lambdas.worker.holding import Ending


class Why(StrEnum):
    """What ended a run that gave no verdict."""

    #: Its process ended, or closed its line: os._exit, a signal, out of memory.
    CRASHED = "crashed"
    #: No sign of life for ``stall_seconds``.
    STALLED = "stalled"
    #: Longer than ``max_duration_seconds``.
    TOO_LONG = "too_long"
    #: Its message could be held no longer, and it did not hand over.
    OUTLASTED = "outlasted"
    #: The worker had to stop, and it was not done within the grace.
    STOPPED = "stopped"
    #: Its lease is over, or taken: whatever becomes of it is another's to say.
    LOST = "lost"


_CATEGORIES = {
    Why.CRASHED: Category.CRASH,
    Why.STALLED: Category.STALLED,
    Why.TOO_LONG: Category.TOO_LONG,
    Why.OUTLASTED: Category.INTERRUPTED,
    Why.STOPPED: Category.INTERRUPTED,
}


class EndedFromOutside(Exception):
    """What stands in the ledger for an exception of the agent's."""


def ending_of(
    why: Why,
    agent: Agent,
    receive_count: int,
    exit_code: int | None,
    now_ms: int,
    chance: Callable[[float, float], float],
) -> Ending:
    """Return how a run ends that was ended for ``why``, at its n-th receive.

    One that crashed waits for its back-off; what was ended on our own wish is due
    at once. On the last receive it is dead, and one that is too long always is.
    """
    reason = _reason(why, _words(why, agent, exit_code))
    if why is Why.TOO_LONG or receive_count >= agent.max_receives:
        return Ending(state=State.DEAD, reason=reason)
    wait = backoff_seconds(agent, receive_count, chance) if why is Why.CRASHED else 0
    due_ms = now_ms + math.ceil(wait * 1000)
    return Ending(state=State.FAILED, reason=reason, due_ms=due_ms)


def _words(why: Why, agent: Agent, exit_code: int | None) -> str:
    match why:
        case Why.STALLED:
            return (
                f"no sign of life for {agent.stall_seconds} s (stall_seconds): call"
                " run.keep_going(), or take smaller steps"
            )
        case Why.TOO_LONG:
            return (
                f"longer than {agent.max_duration_seconds} s: raise"
                " max_duration_seconds, or let it do less"
            )
        case Why.OUTLASTED:
            return (
                "its message can be held for 12 hours: ask run.keep_going(), and save"
                " with run.checkpoint() what another message shall go on from"
            )
        case Why.STOPPED:
            return (
                f"not done within {agent.grace_seconds} s (grace_seconds) after the"
                " worker was asked to stop: look at run.stopping, or keep_going()"
            )
        case _ if exit_code is not None and exit_code < 0:
            return f"the agent's process was ended by signal {-exit_code}"
        case _ if exit_code is not None:
            return f"the agent ended its process with code {exit_code}"
        case _:
            return "the agent's process hung up"


def _reason(why: Why, message: str) -> Reason:
    # Imported here: their patterns take a while to compile, and most runs succeed.
    from lambdas.shared.blame import fault
    from lambdas.shared.fingerprint import fingerprint, qualified

    category = _CATEGORIES[why]
    error = EndedFromOutside(message)
    return Reason(
        category=category,
        type=why.title().replace("_", ""),
        message=message,
        fingerprint=fingerprint(error, message),
        fault=fault(category, qualified(type(error)), message, None),
    )
