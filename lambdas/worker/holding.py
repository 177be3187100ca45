"""What the holder of a claim may do to the row of its run, in whatever process.

The worker that runs the agent ends its own run; the one that watches over it, in a
process of its own, renews the lease, and ends the run when that one is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lambdas.shared.story import ATTENTION, RUN, Reason, State
from lambdas.shared.table import Below, Change, Condition, Is, Outcome, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an attempt ends; ``due_ms`` is when the run may be claimed again."""

    state: State
    reason: Reason | None = None
    due_ms: int | None = None


# How long the attempts of a run have worked, and in which generation.
WORKED = ("worked_ms", "worked_in")

SUCCESS = Ending(state=State.SUCCEEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """A claim by its names: ``agent`` is the name that runs are kept under."""

    event_id: str
    agent: str
    token: str


def renew(table: Table, holding: Holding, ends_ms: int) -> bool:
    """Let the lease in the row end at ``ends_ms``, or later where it does already.

    ``False``: the run is over, or somebody else's. Whoever renews has extended the
    message's visibility before, to an instant after ``ends_ms``: a lease that
    outlasts it would let the message be acknowledged against a worker that died.

    Raises:
        Unavailable, Misconfigured: the ledger did not take it; the row is as it was,
            or as it was asked to be.
    """
    at_work = _mine(holding) & Is("state", State.PROCESSING)
    change = Change(set={"due_at": ends_ms})
    outcome = _update(table, holding, change, at_work & Below("due_at", ends_ms))
    if outcome.done:
        return True
    row = outcome.row
    is_mine = row.get("claim_token") == holding.token
    return is_mine and row["state"] == State.PROCESSING


def release(table: Table, holding: Holding, ending: Ending, now_ms: int) -> bool:
    """End the run whose worker is gone, unless it ended or is somebody else's.

    A second call finds it ended, and changes nothing: ``False`` again.

    Raises:
        Unavailable, Misconfigured: the ledger did not take it.
    """
    return end(table, holding, ending, now_ms, when=Is("state", State.PROCESSING))


def end(
    table: Table,
    holding: Holding,
    ending: Ending,
    now_ms: int,
    *,
    when: Condition | None = None,
    worked: Mapping[str, int] = MappingProxyType({}),
) -> bool:
    """Write down how the attempt ended, if the claim still holds and ``when`` too.

    A run that is not over keeps how long it has ``worked``.
    """
    goes_on = ending.state in (State.FAILED, State.SUSPENDED)
    attributes: dict[str, Any] = {
        **(worked if goes_on else dict.fromkeys(WORKED)),
        "state": ending.state,
        "finished_at": now_ms,
        "reason": ending.reason.to_row() if ending.reason else None,
        "due_at": ending.due_ms,
        "attention": ending.state if ending.state in ATTENTION else None,
    }
    change = Change(
        set={name: v for name, v in attributes.items() if v is not None},
        remove=[name for name, v in attributes.items() if v is None],
    )
    mine = _mine(holding) if when is None else _mine(holding) & when
    return _update(table, holding, change, mine).done


def _mine(holding: Holding) -> Condition:
    return Is("claim_token", holding.token)


def _update(table: Table, holding: Holding, change: Change, when: Condition) -> Outcome:
    sk = f"{RUN}{holding.agent}"
    return table.update(holding.event_id, sk, change, when=when)
