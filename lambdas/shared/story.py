"""What became of an event: the rows beside it, as values.

One query on the event's id gives them all; :func:`told` sorts them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lambdas.shared.event import Event
from lambdas.shared.table import Row

RUN, STEP, EFFECT, CHECKPOINT = "run#", "step#", "effect#", "checkpoint#"


class State(StrEnum):
    """Where a run is; QUEUED and ``unheard`` are shown, not stored."""

    PROCESSING = "PROCESSING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SUSPENDED = "SUSPENDED"
    DEAD = "DEAD"
    SKIPPED = "SKIPPED"
    MISSED = "MISSED"


# States that a person may have to act on; they are in the index by state. A failed
# run is not: it is tried again by itself, or dies (decision 0018).
ATTENTION = frozenset({State.DEAD})
# A message answers for the run.
_GOING = frozenset({State.PROCESSING, State.FAILED, State.SUSPENDED})


class Category(StrEnum):
    """Why a run failed, by who has to act."""

    #: RetryLater: the other side did not take it yet.
    PASSING = "passing"
    #: A service of AWS that we need did not answer.
    UNAVAILABLE = "unavailable"
    #: GiveUp: no later delivery can succeed.
    GAVE_UP = "gave_up"
    #: An effect was started and nobody recorded its outcome.
    IN_DOUBT = "in_doubt"
    #: Any other exception of the agent.
    ERROR = "error"
    #: The process ended: the agent's SystemExit, or killed from outside.
    CRASH = "crash"
    #: The agent cannot be loaded, or a secret or a grant is missing.
    SETUP = "setup"
    #: The event expires before the run could end.
    TOO_OLD = "too_old"
    #: The agent's own limit of runs per hour is used up.
    LIMIT = "limit"
    #: A tick came while an earlier one of its schedule was not over.
    OVERLAP = "overlap"
    #: A tick came later than its schedule's ``max_lateness_seconds``.
    TOO_LATE = "too_late"
    #: The worker had to stop before the agent had saved anything of this attempt.
    INTERRUPTED = "interrupted"
    #: The agent gave no sign of life for ``stall_seconds``.
    STALLED = "stalled"
    #: The run is longer than its agent's ``max_duration_seconds``.
    TOO_LONG = "too_long"
    #: Lambda ended the attempt at its time limit; told afterwards, from its log.
    TIMEOUT = "timeout"
    #: Nobody could write why: no attempt began, or none could be recorded.
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a run is where it is; equal fingerprints are the same fault.

    ``category`` says how the run ended, ``fault`` whose fault it looks like
    (:class:`lambdas.shared.blame.Blame`).
    """

    category: str
    type: str
    message: str
    downstream: str | None = None
    fingerprint: str
    fault: str | None = None

    def to_row(self) -> dict[str, Any]:
        """Return the attribute ``reason``."""
        row = {
            "category": str(self.category),
            "type": self.type,
            "message": self.message,
            "downstream": self.downstream,
            "fingerprint": self.fingerprint,
            "fault": None if self.fault is None else str(self.fault),
        }
        return {name: value for name, value in row.items() if value is not None}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Reason:
        """Read :meth:`to_row` back."""
        return cls(
            category=row["category"],
            type=row["type"],
            message=row["message"],
            downstream=row.get("downstream"),
            fingerprint=row["fingerprint"],
            fault=row.get("fault"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One agent's processing of one event. Times are epoch milliseconds.

    ``due_at`` is when anyone may claim it: the end of the lease while
    PROCESSING, the retry time while FAILED. ``worked_ms`` is how long its attempts
    have worked, without the present one and those that were killed. ``sent_at`` is
    when its carrier was sent: a dead letter lives 14 days from then. ``envelope_id``
    is that of the carrier's body: what brings a dead run back is in the same one.
    ``invocation`` is where Lambda's log speaks of its last attempt: ``id`` and
    ``log_group``.
    """

    agent: str
    state: State
    attempt: int
    carrier: str
    generation: int
    due_at: int | None = None
    started_at: int | None = None
    finished_at: int | None = None
    reason: Reason | None = None
    sent_at: int | None = None
    invocation: Mapping[str, str] | None = None
    effects_generation: int | None = None
    worked_ms: int | None = None
    envelope_id: str | None = None

    @classmethod
    def from_row(cls, row: Row) -> RunRecord:
        """Read a run row of the ledger."""
        reason = row.get("reason")
        return cls(
            agent=row["sk"].removeprefix(RUN),
            state=State(row["state"]),
            attempt=row.get("attempt", 0),
            carrier=row.get("carrier", ""),
            generation=row.get("generation", 0),
            due_at=row.get("due_at"),
            started_at=row.get("started_at"),
            finished_at=row.get("finished_at"),
            reason=None if reason is None else Reason.from_row(reason),
            sent_at=row.get("sent_at"),
            invocation=row.get("invocation"),
            effects_generation=row.get("effects_generation"),
            worked_ms=row.get("worked_ms"),
            envelope_id=row.get("envelope_id"),
        )


# A run whose lease is over comes back when its message shows again, which is within
# the queue's visibility; the rest is room for a busy queue.
_COMES_BACK_MS = 5 * 60 * 1000


def is_stranded(run: RunRecord, visibility_seconds: int, now_ms: int) -> bool:
    """Say whether a run is not over, and its message should have come long ago.

    The queue may have been emptied by hand, or what waits there is very much.
    """
    # One that handed over is always due: its next message was sent just then.
    since = run.finished_at if run.state is State.SUSPENDED else run.due_at
    if run.state not in _GOING or since is None:
        return False
    return since < now_ms - visibility_seconds * 1000 - _COMES_BACK_MS


class Status(StrEnum):
    """Where a step or an effect is; steps know DONE only."""

    #: Marked before it is sent. Found by a later attempt, it is in doubt.
    STARTED = "STARTED"
    #: It happened, and its result is stored.
    DONE = "DONE"
    #: Marked, and surely not sent: it may be started afresh.
    RELEASED = "RELEASED"
    #: An operator looked: it happened. It is not sent again; it has no result.
    HAPPENED = "HAPPENED"
    #: An operator looked: it did not happen. It may be started afresh.
    NOT_HAPPENED = "NOT_HAPPENED"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """A step or an effect of a run. Times are epoch milliseconds."""

    agent: str
    name: str
    status: Status
    generation: int
    operation_id: str | None = None
    started_at: int | None = None
    finished_at: int | None = None

    @classmethod
    def from_row(cls, row: Row) -> StepRecord:
        """Read a step or effect row; agents' names hold no ``#``."""
        _, agent, name = row["sk"].split("#", 2)
        return cls(
            agent=agent,
            name=name,
            status=Status(row["status"]),
            generation=row.get("generation", 0),
            operation_id=row.get("operation_id"),
            started_at=row.get("started_at"),
            finished_at=row.get("finished_at"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRecord:
    """What a run has saved last: how large, when and in which attempt.

    ``version`` counts the run's checkpoints; ``written_at`` is in epoch
    milliseconds, ``bytes`` counts the state as JSON.
    """

    agent: str
    version: int
    generation: int
    attempt: int
    written_at: int
    bytes: int

    @classmethod
    def from_row(cls, row: Row) -> CheckpointRecord:
        """Read a checkpoint row; its state is the agent's."""
        return cls(
            agent=row["sk"].removeprefix(CHECKPOINT),
            version=row["version"],
            generation=row["generation"],
            attempt=row["attempt"],
            written_at=row["written_at"],
            bytes=row["bytes"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The whole of an event. ``via``: through the ``door`` or a ``queue``."""

    event: Event
    via: str
    expires_at: int
    is_ignored: bool
    is_unheard: bool
    runs: tuple[RunRecord, ...]
    steps: tuple[StepRecord, ...]
    effects: tuple[StepRecord, ...]
    checkpoints: tuple[CheckpointRecord, ...] = ()


def told(event: Event, rows: Iterable[Row]) -> Story:
    """Return the story of ``event`` from all rows under its id."""
    by_key = {row["sk"]: row for row in rows}
    own = by_key["event"]

    def records(prefix: str) -> tuple[StepRecord, ...]:
        found = [row for sk, row in by_key.items() if sk.startswith(prefix)]
        return tuple(StepRecord.from_row(row) for row in found)

    return Story(
        event=event,
        via=own["via"],
        expires_at=own["expires_at"],
        is_ignored=own.get("ignored", False),
        is_unheard="unheard" in by_key,
        runs=tuple(
            RunRecord.from_row(row) for sk, row in by_key.items() if sk.startswith(RUN)
        ),
        steps=records(STEP),
        effects=records(EFFECT),
        checkpoints=tuple(
            CheckpointRecord.from_row(row)
            for sk, row in by_key.items()
            # One that was looked for and never saved has no version.
            if sk.startswith(CHECKPOINT) and "version" in row
        ),
    )


def operation_id(event_id: str, agent: str, effect: str, generation: int) -> str:
    """Return the id under which an effect is known to the other side.

    The first 32 hex digits of SHA-256 over the UTF-8 text
    ``<event id>\\n<agent>\\n<effect>\\n<generation>``: the same in every attempt
    and redrive. ``agent`` is the name its runs are kept under; ``generation``
    is a decimal number, 0 unless a replay asked for fresh effects. Of the four
    only the effect's name could hold a line break, and it may not.
    """
    text = f"{event_id}\n{agent}\n{effect}\n{generation}"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
