"""Runs one agent for one delivery, wherever the worker lives."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from aws_lambda_powertools.utilities.idempotency import (
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyPersistenceLayerError,
)

from lambdas.shared.clock import Clock, milliseconds
from lambdas.shared.errors import BellhopError, GiveUp
from lambdas.shared.fleet import Agent
from lambdas.shared.ledger import Bodies, TableLedger
from lambdas.shared.observe import logger
from lambdas.shared.story import State
from lambdas.shared.table import Table
from lambdas.shared.ticks import schedule_of
from lambdas.worker import agent as agents
from lambdas.worker import telling
from lambdas.worker.checkpoints import Checkpoints
from lambdas.worker.claim import Claim, Verdict
from lambdas.worker.delivery import Delivery, Message, Visibility
from lambdas.worker.ending import OverLimit, TooLong, TooOld, ending_of, reason_of
from lambdas.worker.handover import Handover
from lambdas.worker.holding import Ending
from lambdas.worker.host import Host
from lambdas.worker.pace import Pace
from lambdas.worker.run import RunLog, ThisRun
from lambdas.worker.runs import Ended, RunRow
from lambdas.worker.steps import Steps

# SQS keeps a message hidden for 12 hours at most, counted from its receive.
_SQS_HIDES_SECONDS = 12 * 60 * 60

# No later attempt follows by itself.
_OVER = frozenset({State.SUCCEEDED, State.DEAD, State.SKIPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything that a runner needs of the world.

    ``chance(low, high)`` draws a number between the two; ``token()`` returns
    one that nobody ever used.
    """

    ledger: TableLedger
    table: Table
    bodies: Bodies
    queue: Visibility
    secret_of: Callable[[str], str]
    clock: Clock
    chance: Callable[[float, float], float]
    token: Callable[[], str]
    #: Puts a message on the agent's own queue: what carries a run on.
    #: Raises Unavailable, Misconfigured.
    send: Callable[[str], None]
    #: Counts seconds, whatever is done to the clock.
    ticking: Callable[[], float] = time.monotonic
    #: Told the schedule of a tick whose run has ended.
    run_over: Callable[[str], None] = lambda _: None


class Runner:
    """Takes deliveries of one agent's queue, each by itself, from any thread."""

    def __init__(
        self,
        agent: Agent,
        ports: Ports,
        load: Callable[[str, str], agents.Function] = agents.load,
    ) -> None:
        """Run ``agent``; ``load`` finds its function at the first run."""
        self._agent = agent
        self._ports = ports
        self._load = load

    def take(self, message: Message, host: Host) -> Verdict:
        """Run what ``message`` carries; an event that AWS told is accepted first.

        Raises:
            NotOurs: it carries no event.
            Unavailable, Misconfigured: the ledger did not take the event.
        """
        return self.run(self._delivery(message), host)

    def run(self, delivery: Delivery, host: Host) -> Verdict:
        """Claim the run, call the agent, and say what became of the delivery."""
        row = RunRow(
            self._ports.table,
            delivery,
            token=self._ports.token(),
            clock=self._ports.clock,
            ticking=self._ports.ticking,
            visibility_seconds=self._agent.visibility_seconds,
            judge=lambda error: self._judge(error, delivery),
            invocation=host.invocation,
        )
        guarded = idempotent_function(
            lambda *, delivery: self._attempt(delivery, row, host),
            data_keyword_argument="delivery",
            persistence_store=row,
            # Only the time left is asked of it.
            config=IdempotencyConfig(lambda_context=host),  # type: ignore[arg-type]
        )
        try:
            guarded(delivery=delivery)
        except Ended:
            pass  # the verdict and the ending say it all
        except IdempotencyPersistenceLayerError as error:
            telling.ledger_failed(delivery, error)
            row.verdict = Verdict.UNDECIDED
        verdict = row.verdict or Verdict.UNDECIDED
        if verdict is Verdict.SUSPENDED:
            verdict = self._carried_on(delivery, row)
        self._hide(delivery, verdict, row)
        if row.ending is not None and row.ending.state in _OVER:
            self._pass_on(delivery)
        telling.ended(self._agent.name, delivery, verdict, row, self._ports.clock())
        return verdict

    def _carried_on(self, delivery: Delivery, row: RunRow) -> Verdict:
        """Let another message carry on the run that was handed over.

        Until it is sent the old one answers for the run; it is deleted after that.
        """
        try:
            self._ports.send(delivery.continuation())
        except BellhopError as error:
            telling.not_continued(delivery, error)
            if delivery.receive_count < self._agent.max_receives:
                return Verdict.GIVEN_BACK
            # It is on its way to the dead letters, which want a reason.
            return row.die(reason_of(error))
        return Verdict.SUSPENDED

    def _pass_on(self, delivery: Delivery) -> None:
        """Let the next tick in line begin; where this fails, the watcher does it."""
        schedule = schedule_of(delivery.event_id)
        if schedule is None:
            return
        try:
            self._ports.run_over(schedule)
        except BellhopError as error:
            logger.warning("next tick not let in", schedule=schedule, reason=str(error))

    def _delivery(self, message: Message) -> Delivery:
        key = self._agent.key
        if message.is_from_relay:
            return message.delivery(key)
        event = message.aws_event(self._ports.clock())
        ledger = self._ports.ledger
        if not ledger.accept(event, via="queue"):
            # What holds is when it was first accepted; nothing extends its life.
            event = ledger.event(event.id) or event
        return message.carrying(
            key,
            event_id=event.id,
            expires_at=ledger.expires_at(event),
            received_at=event.received_at,
        )

    def _attempt(self, delivery: Delivery, row: RunRow, host: Host) -> None:
        """Call the agent under the claim; whatever it raises becomes Ended."""
        claim = row.claim
        if claim is None:
            # POWERTOOLS_IDEMPOTENCY_DISABLED would run every delivery, unguarded.
            raise RuntimeError("no run without a claim: Powertools' guard is off")
        telling.started(self._agent.name)
        host.claimed(claim)
        run, me = self._run(claim, host), os.getpid()
        try:
            self._called(delivery, claim, run)
        except BaseException as error:
            raise Ended(run.outcome(error) or error) from error
        finally:
            run.close()
            if os.getpid() != me:
                # A child that the agent forked came home; the run is its parent's.
                os._exit(1)
        left = run.outcome(None)
        if left is not None:
            raise Ended(left)

    def _called(self, delivery: Delivery, claim: Claim, run: ThisRun) -> None:
        now = self._ports.clock()
        self._still(claim)
        if self._latest_end(claim, now) >= _expiry(delivery):
            raise TooOld("too old to run safely: its rows expire before it could end")
        function = self._load(self._agent.module, self._agent.function)
        event = self._ports.ledger.event(delivery.event_id)
        if event is None:
            raise GiveUp("the ledger does not hold this event", downstream="ledger")
        limit = self._agent.max_runs_per_hour
        if limit is not None and claim.attempt == 1:
            key = f"{claim.agent}#{event.thread or ''}"
            if not self._ports.ledger.once_an_hour(key, now, limit):
                raise OverLimit(f"max_runs_per_hour: {limit} runs were made this hour")
        agents.call(function, event, run)

    def _run(self, claim: Claim, host: Host) -> ThisRun:
        log = RunLog(
            host.alive,
            event_id=claim.event_id,
            agent=self._agent.name,
            attempt=claim.attempt,
        )
        ports = self._ports
        return ThisRun(
            agent=self._agent,
            attempt=claim.attempt,
            host=host,
            deadline=self._deadline(claim, host),
            log=log,
            secret_of=ports.secret_of,
            steps=lambda run: Steps(
                ports.table, ports.bodies, claim, ports.clock, run.sending
            ),
            handover=Handover(
                host,
                Pace(host.get_remaining_time_in_millis, ports.ticking),
                Checkpoints(ports.table, ports.bodies, claim, ports.clock),
                still=lambda: self._still(claim),
            ),
            told=lambda: ports.ledger.told(claim.event_id),
        )

    def _still(self, claim: Claim) -> None:
        """Raise StaleClaim or TooLong once the run may go on no more."""
        now_ms = claim.alive(self._ports.clock)
        seconds = self._agent.max_duration_seconds
        if now_ms >= claim.begun_ms + seconds * 1000:
            raise TooLong(
                "the attempts of this run have worked for longer than its agent's"
                f" max_duration_seconds ({seconds}). A redrive goes on from its last"
                " checkpoint, for as long again; if that is not enough, raise the limit"
            )

    def _latest_end(self, claim: Claim, now: datetime) -> datetime:
        """Return when the run ends at the latest, if this attempt is its last."""
        attempt = now + timedelta(seconds=self._agent.longest_attempt_seconds)
        return max(attempt, self._limit(claim))

    def _limit(self, claim: Claim) -> datetime:
        longest = timedelta(seconds=self._agent.max_duration_seconds)
        return datetime.fromtimestamp(claim.begun_ms / 1000, UTC) + longest

    def _deadline(self, claim: Claim, host: Host) -> datetime:
        left = timedelta(milliseconds=host.get_remaining_time_in_millis())
        return min(self._ports.clock() + left, self._limit(claim))

    def _judge(self, error: BaseException, delivery: Delivery) -> Ending:
        ports = self._ports
        return ending_of(error, delivery, self._agent, ports.clock(), ports.chance)

    def _hide(self, delivery: Delivery, verdict: Verdict, row: RunRow) -> None:
        """Let the message show when its run is due; a failure to do so is harmless.

        It then comes back when the queue's own visibility is over.
        """
        now_ms = milliseconds(self._ports.clock())
        due_ms: int | None = None
        match verdict:
            case Verdict.FAILED if row.ending is not None:
                due_ms = row.ending.due_ms
            case Verdict.WAITING:
                due_ms = row.due_ms
            case Verdict.DEAD | Verdict.BOUNCED | Verdict.GIVEN_BACK:
                due_ms = now_ms
            case _:
                pass
        if due_ms is None:
            return
        hidden_ms = max(0, now_ms - delivery.first_received_ms)
        longest = _SQS_HIDES_SECONDS - math.ceil(hidden_ms / 1000)
        seconds = min(max(0, math.ceil((due_ms - now_ms) / 1000)), longest)
        if seconds < 0:
            return
        try:
            self._ports.queue.hide(delivery.receipt, seconds)
        except BellhopError as error:
            logger.warning(
                "message not hidden as wished",
                event_id=delivery.event_id,
                agent=self._agent.name,
                reason=str(error),
            )


def _expiry(delivery: Delivery) -> datetime:
    return datetime.fromtimestamp(delivery.expires_at, UTC)
