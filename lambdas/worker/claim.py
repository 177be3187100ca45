"""The carrier rule: who may claim a run, and what every other message does.

A run has one carrier: the message whose id is in its row. Pure; the row is
changed by :mod:`lambdas.worker.runs` under the condition made here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lambdas.shared.clock import Clock, milliseconds
from lambdas.shared.story import State
from lambdas.shared.table import NEW, Absent, Below, Condition, Is, IsNot, OneOf, Row
from lambdas.worker.delivery import Delivery
from lambdas.worker.holding import Holding
from lambdas.worker.lease import Lease


class Verdict(StrEnum):
    """What became of a delivery."""

    #: The agent returned; acknowledged.
    SUCCEEDED = "succeeded"
    #: The agent failed and its message comes back after the back-off.
    FAILED = "failed"
    #: The agent handed over; another message carries the run on. Acknowledged.
    SUSPENDED = "suspended"
    #: It handed over, and no message could be sent: this one comes back at once.
    GIVEN_BACK = "given back"
    #: The run failed for good; its message bounces until SQS moves it to the DLQ.
    DEAD = "dead"
    #: The agent's own limit of runs per hour is used up; acknowledged.
    SKIPPED = "skipped"
    #: Another message answers for this run, or it is over; acknowledged.
    ACKNOWLEDGED = "acknowledged"
    #: The carrier of a dead run, on its way to the DLQ.
    BOUNCED = "bounced"
    #: The carrier of a run in progress, or a redrive of one that waits for its
    #: retry; it comes back when the lease is over or the retry is due.
    WAITING = "waiting"
    #: The claim was taken over: neither the row nor the message is touched.
    STALE = "stale"
    #: The ledger did not answer, or no time was left; the message comes back.
    UNDECIDED = "undecided"

    @property
    def is_done(self) -> bool:
        """Whether the message may be deleted."""
        return self in _DONE


_DONE = frozenset(
    {Verdict.SUCCEEDED, Verdict.SUSPENDED, Verdict.SKIPPED, Verdict.ACKNOWLEDGED}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to work on a run while ``lease`` lasts, under a token of its own.

    ``begun_ms`` is when it would have begun if nothing had ever waited: now, less
    what earlier attempts have worked since the run began, or was redriven. It is
    what ``max_duration_seconds`` is counted from.
    """

    event_id: str
    agent: str
    expires_at: int
    token: str
    generation: int
    attempt: int
    lease: Lease
    begun_ms: int
    #: What operation ids are made of; that of the run unless a replay keeps it.
    effects_generation: int | None = None

    @property
    def effects(self) -> int:
        """The generation of this run's effects."""
        kept = self.effects_generation
        return self.generation if kept is None else kept

    def alive(self, clock: Clock) -> int:
        """Return the time, in epoch milliseconds, while the lease lasts.

        Raises:
            StaleClaim: it is over, or lost.
        """
        now_ms = milliseconds(clock())
        if not self.lease.lasts(now_ms):
            raise StaleClaim("the lease of this attempt is over")
        return now_ms

    @property
    def holding(self) -> Holding:
        """This claim by its names, for whoever renews or ends it."""
        return Holding(event_id=self.event_id, agent=self.agent, token=self.token)


class StaleClaim(Exception):
    """The lease is over or the run was taken over: nothing more may be touched."""


def may_claim(delivery: Delivery, generation: int, now_ms: int) -> Condition:
    """Return the condition under which the row of the run may be claimed.

    The letters are those of the rule: (a) there is no row; (b) what it waited
    for has passed; (c) it waits, and this is its carrier; (d) it is dead, and
    this message is its dead letter, sent again later: a redrive; (e) a replay
    runs it again. One that keeps the effects waits for a lease that lasts: two
    workers at one effect would find each other's mark in doubt.
    """
    open_states = (State.PROCESSING, State.FAILED, State.SUSPENDED)
    due = OneOf("state", open_states) & Below("due_at", now_ms)
    carried = OneOf("state", (State.FAILED, State.SUSPENDED)) & Is(
        "carrier", delivery.message_id
    )
    redriven = (
        Is("state", State.DEAD)
        & IsNot("carrier", delivery.message_id)
        & _sent_again(delivery)
    )
    # A message older than the last replay must not lower the run's generation: its
    # claim is refused here, and made again at the generation of the row.
    not_older = Below("generation", generation + 1)
    again: Condition = Below("generation", generation)
    if delivery.keeps_effects:
        at_rest = tuple(state for state in State if state is not State.PROCESSING)
        again = again & (OneOf("state", at_rest) | Below("due_at", now_ms))
    return NEW | (not_older & (due | carried | redriven)) | again


def _sent_again(delivery: Delivery) -> Condition:
    """Tell the carrier's letter, sent once more, from an event published once more.

    A redrive copies the body, and the bus wrote the envelope's id into it; each
    publication has another one. What was published twice is a duplicate, however
    late: the carrier's letter is there. The time is that of the last claim, not of
    the death: a worker that was paused may write that after the letter was moved.
    """
    later = Below("finished_at", delivery.sent_ms)
    if not delivery.envelope_id:
        return later
    since = Absent("started_at") | Below("started_at", delivery.sent_ms)
    same = Is("envelope_id", delivery.envelope_id) & since
    # Rows of before hold no id of an envelope.
    return same | (Absent("envelope_id") & later)


def refused(row: Row, delivery: Delivery) -> Verdict:
    """Return what a message does that may not claim the run in ``row``."""
    is_carrier = row["carrier"] == delivery.message_id
    is_again = row.get("generation", 0) < delivery.generation
    match row["state"]:
        case State.PROCESSING if is_carrier or is_again:
            return Verdict.WAITING
        case State.FAILED | State.SUSPENDED if _is_redrive(row, delivery):
            # The carrier was moved to the dead letters before its time had come.
            return Verdict.WAITING
        case State.DEAD if is_carrier:
            return Verdict.BOUNCED
        case _:
            return Verdict.ACKNOWLEDGED


def _is_redrive(row: Row, delivery: Delivery) -> bool:
    """Say whether this is the carrier's letter, sent again: as in the condition."""
    if not delivery.envelope_id or row.get("envelope_id") != delivery.envelope_id:
        return False
    return bool(row.get("started_at", 0) < delivery.sent_ms)
