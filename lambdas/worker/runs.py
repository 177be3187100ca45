"""The run row as Powertools' idempotency record: one row per run, changed in place.

``idempotent_function`` calls the hooks; each is one conditional update of ours,
so that attempts and reasons survive and a stale worker changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyItemAlreadyExistsError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.base import (
    BasePersistenceLayer,
)
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import (
    DataRecord,
)

from lambdas.shared.clock import Clock, milliseconds
from lambdas.shared.errors import BellhopError, Misconfigured
from lambdas.shared.story import RUN, Reason, State
from lambdas.shared.table import Change, Is, Outcome, Row, Table
from lambdas.worker.claim import Claim, StaleClaim, Verdict, may_claim, refused
from lambdas.worker.delivery import Delivery
from lambdas.worker.holding import SUCCESS, WORKED, Ending, end
from lambdas.worker.lease import Lease

# The lease must end before the message shows again, or a redrive would be
# acknowledged against a dead worker's claim and lost.
LEASE_MARGIN_MS = 5_000

# What an attempt has worked at least: a run that is handed over again and again, at
# once and for nothing, must come to its max_duration_seconds too.
LEAST_WORK_MS = 1_000

_VERDICTS = {
    State.SUCCEEDED: Verdict.SUCCEEDED,
    State.FAILED: Verdict.FAILED,
    State.SUSPENDED: Verdict.SUSPENDED,
    State.DEAD: Verdict.DEAD,
    State.SKIPPED: Verdict.SKIPPED,
}


class Ended(Exception):
    """Whatever an agent raised, told to Powertools as one ordinary exception.

    Powertools would let a BaseException pass without a word, and would take
    an idempotency error of the agent's own for one of its own.
    """

    def __init__(self, cause: BaseException) -> None:
        """Carry ``cause``."""
        super().__init__(type(cause).__name__)
        self.cause = cause


class RunRow(BasePersistenceLayer):
    """The row of one run, for one delivery of it; never shared, never used twice.

    After the guarded call, ``verdict`` says what became of the delivery and
    ``ending`` how the attempt ended, if it was this one that ended it. While
    the agent runs, ``claim`` is its right to do so.
    """

    def __init__(
        self,
        table: Table,
        delivery: Delivery,
        *,
        token: str,
        clock: Clock,
        ticking: Callable[[], float],
        visibility_seconds: int,
        judge: Callable[[BaseException], Ending],
        invocation: Mapping[str, str] | None = None,
    ) -> None:
        """``judge`` says how an attempt ends that raised; ``token`` is new.

        ``ticking`` counts seconds, whatever is done to the clock.

        ``invocation`` is written down, so that Lambda's log can be asked what
        became of an attempt that wrote nothing.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        self._table = table
        self._delivery = delivery
        self._token = token
        self._clock = clock
        self._ticking = ticking
        self._visibility_ms = visibility_seconds * 1000
        self._judge = judge
        self._invocation = invocation
        self._worked_before_ms = 0
        self._since = 0.0
        self.claim: Claim | None = None
        self.verdict: Verdict | None = None
        self.ending: Ending | None = None
        #: When the run in progress may be claimed, if this delivery has to wait.
        self.due_ms: int | None = None

    def save_inprogress(
        self, data: Any, remaining_time_in_millis: int | None = None
    ) -> None:
        """Claim the run, or take the verdict of one who may not."""
        if remaining_time_in_millis is None:
            raise Misconfigured("a run needs to know how much time it has left")
        if remaining_time_in_millis <= 0:
            self.verdict = Verdict.UNDECIDED
            self._nothing_to_run()
        now_ms = milliseconds(self._clock())
        lease_ends_ms = now_ms + min(
            remaining_time_in_millis, self._visibility_ms - LEASE_MARGIN_MS
        )
        outcome = self._claim(self._delivery.generation, now_ms, lease_ends_ms)
        newer = outcome.row.get("generation", 0)
        if not outcome.done and newer > self._delivery.generation:
            outcome = self._claim(newer, now_ms, lease_ends_ms)
        # The answer to a claim may be lost and the call repeated below us: then the
        # row that refuses the second one is our own.
        if outcome.done or outcome.row.get("claim_token") == self._token:
            self.claim = self._claimed(outcome.row, now_ms)
            return
        self.verdict = refused(outcome.row, self._delivery)
        if self.verdict is Verdict.WAITING:
            self.due_ms = outcome.row["due_at"]
        self._nothing_to_run()

    def save_success(self, data: Any, result: Any) -> None:
        """End the attempt well; what the agent returned is not stored."""
        self._end(SUCCESS)

    def delete_record(self, data: Any, exception: Exception) -> None:
        """End the attempt as ``judge`` says. The row stays, with its reason."""
        cause = exception.cause if isinstance(exception, Ended) else exception
        if isinstance(cause, StaleClaim):
            self.verdict = Verdict.STALE
        else:
            self._end(self._judge(cause))

    def die(self, reason: Reason) -> Verdict:
        """Let the run be dead that was handed over and that nobody will take up."""
        claim = self.claim
        if claim is None:
            raise RuntimeError("an attempt ends that was never claimed")
        ending = Ending(state=State.DEAD, reason=reason)
        now_ms = milliseconds(self._clock())
        waits = Is("state", State.SUSPENDED)
        try:
            if end(self._table, claim.holding, ending, now_ms, when=waits):
                self.ending = ending
                return Verdict.DEAD
        except BellhopError:
            pass  # it stays SUSPENDED: its dead letter takes it up
        return Verdict.GIVEN_BACK

    def get_record(self, data: Any) -> DataRecord:
        """Never needed: a refused claim has returned the row already."""
        return _COMPLETED

    def _claim(self, generation: int, now_ms: int, lease_ends_ms: int) -> Outcome:
        delivery = self._delivery
        known: dict[str, Any] = {
            "invocation": self._invocation,
            "envelope_id": delivery.envelope_id or None,
        }
        gone = ["reason", "finished_at", "attention"]
        if generation == delivery.generation:
            # Of a claim at another generation the row itself knows.
            kept = delivery.effects_generation if delivery.keeps_effects else None
            known["effects_generation"] = kept
        gone += [name for name, value in known.items() if value is None]
        change = Change(
            set={
                "state": State.PROCESSING,
                "carrier": delivery.message_id,
                "claim_token": self._token,
                "due_at": lease_ends_ms,
                "generation": generation,
                "sent_at": delivery.sent_ms,
                "started_at": now_ms,
                "expires_at": delivery.expires_at,
                **{name: v for name, v in known.items() if v is not None},
            },
            add={"attempt": 1},
            remove=gone,
        )
        sk = f"{RUN}{delivery.agent}"
        when = may_claim(delivery, generation, now_ms)
        return self._table.update(delivery.event_id, sk, change, when=when)

    def _claimed(self, row: Row, now_ms: int) -> Claim:
        is_same = row.get("worked_in") == row["generation"]
        self._worked_before_ms = row["worked_ms"] if is_same else 0
        self._since = self._ticking()
        return Claim(
            event_id=self._delivery.event_id,
            agent=self._delivery.agent,
            expires_at=self._delivery.expires_at,
            token=self._token,
            generation=row["generation"],
            attempt=row["attempt"],
            lease=Lease(row["due_at"], now_ms, self._ticking),
            begun_ms=now_ms - self._worked_before_ms,
            effects_generation=row.get("effects_generation"),
        )

    def _end(self, ending: Ending) -> None:
        claim = self.claim
        if claim is None:
            raise RuntimeError("an attempt ends that was never claimed")
        now_ms = milliseconds(self._clock())
        worked = dict(zip(WORKED, (self._worked_ms(), claim.generation), strict=True))
        if end(self._table, claim.holding, ending, now_ms, worked=worked):
            self.ending = ending
            self.verdict = _VERDICTS[ending.state]
        else:
            self.verdict = Verdict.STALE

    def _worked_ms(self) -> int:
        elapsed_ms = round((self._ticking() - self._since) * 1000)
        return self._worked_before_ms + max(LEAST_WORK_MS, elapsed_ms)

    def _nothing_to_run(self) -> NoReturn:
        # "Completed, no data" makes Powertools return at once, without an exception.
        raise IdempotencyItemAlreadyExistsError(old_data_record=_COMPLETED)

    # The base class demands these; its hooks that would call them are ours above.

    def _get_record(self, idempotency_key: str) -> DataRecord:
        raise NotImplementedError

    def _put_record(self, data_record: DataRecord) -> None:
        raise NotImplementedError

    def _update_record(self, data_record: DataRecord) -> None:
        raise NotImplementedError

    def _delete_record(self, data_record: DataRecord) -> None:
        raise NotImplementedError


_COMPLETED = DataRecord(idempotency_key="run", status="COMPLETED")
