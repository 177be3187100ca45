"""The supervisor: polls the queue, has a child run what comes, answers for the message.

A message is deleted when the child's verdict says that it is done, and never else.
Its run's process may hang, vanish, fork or eat the memory: the supervisor ends it,
writes down why, and gives the message back. What it cannot say, the lease says: it
ends by itself, before the message shows.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable
from typing import Any

from lambdas.shared.adapters.lines import Line
from lambdas.shared.clock import milliseconds
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import Agent
from lambdas.worker.holding import Holding
from lambdas.worker.polling import signals, telling, told
from lambdas.worker.polling.ending import Why
from lambdas.worker.polling.happenings import (
    Asked,
    Happening,
    Happenings,
    Inbox,
    Lost,
    Start,
)
from lambdas.worker.polling.heartbeat import Heartbeat, World
from lambdas.worker.polling.hold import Hold
from lambdas.worker.polling.job import Job
from lambdas.worker.polling.process import ChildProcess, Gone, Said
from lambdas.worker.polling.protection import Protected
from lambdas.worker.polling.pulse import Pulse
from lambdas.worker.polling.release import Release
from lambdas.worker.polling.signals import Stopping

# Imports and the fleet file, on a machine that is busy.
_START_SECONDS = 60
_MOST_STARTS = 5
_LAST_WORDS_SECONDS = 5
_LONGEST_PAUSE_SECONDS = 30.0
# A poll that was answered within this time needs no extension to be sure of.
_PROMPT_SECONDS = 1.0

# SQS waits 20 seconds for a message at most.
WAIT_SECONDS = 20


class Supervisor:
    """Works until it is asked to stop; from its main thread, which starts the child."""

    def __init__(
        self,
        agent: Agent,
        *,
        inbox: Inbox,
        world: World,
        stopping: Stopping,
        pulse: Pulse,
        start: Start,
        chance: Callable[[float, float], float],
        protected: Protected | None = None,
        wait_seconds: int = WAIT_SECONDS,
        happened: Happenings | None = None,
    ) -> None:
        """``world.queue`` is the inbox; ``start`` starts a child that tells us."""
        self._agent = agent
        self._inbox = inbox
        self._world = world
        self._stopping = stopping
        self._pulse = pulse
        self._start = start
        self._chance = chance
        self._protected = protected
        self._wait = wait_seconds
        self._happened: Happenings = happened or queue.SimpleQueue()
        self._child: ChildProcess | None = None
        self._failed_starts = self._failed_polls = 0
        self._waiting = threading.Lock()
        self._is_waiting = False
        self._release = Release(agent, world, chance)
        stopping.tell(self._asked)

    def run(self) -> int:
        """Work; returns 0 when all was finished or given back, 1 without a child."""
        try:
            while not self._stopping.is_asked:
                self._pulse.turned()
                if self._child is None and not self._has_started():
                    if self._failed_starts >= _MOST_STARTS:
                        return 1
                    continue
                job = self._received()
                if job is not None:
                    self._work(job)
        finally:
            self._end_child()
        telling.stopped(self._agent.name)
        return 0

    # Asking

    def _asked(self) -> None:
        self._pulse.stopping()
        self._happened.put(Asked())
        with self._waiting:
            # Nothing is in hand. What the queue hands out at this very moment comes
            # back by itself; in peace, we would wait for it and give it back.
            if self._stopping.is_urgent and self._is_waiting:
                self._end_child()
                signals.leave(0)

    # The child

    def _has_started(self) -> bool:
        """Start a child and wait until it takes work."""
        child = self._child = self._start(self._happened.put)
        ends = self._world.ticking() + _START_SECONDS
        while (left := ends - self._world.ticking()) > 0:
            match self._next(left):
                case Said(line={"ready": _}):
                    self._failed_starts = 0
                    self._pulse.started()
                    return True
                case Asked():
                    return False
                case None | Gone():
                    break
                case _:
                    pass
        self._failed_starts += 1
        self._end_child()
        telling.no_child(self._agent.name, child.exit_code, self._failed_starts)
        self._pulse.fails("the child", f"it ended with {child.exit_code} at its start")
        self._stopping.wait(self._pause(self._failed_starts))
        return False

    def _replace_lost_child(self) -> None:
        """Start another child if ours has ended with nothing in hand.

        The kernel may have wanted its memory: the message that came since then must
        not pay for it.
        """
        while (happened := self._next(0)) is not None:
            if isinstance(happened, Gone):
                self._end_child()
                telling.child_lost(self._agent.name, happened.child.exit_code)
                self._has_started()
                return

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.end()
            self._child = None

    def _next(self, seconds: float) -> Happening | None:
        """Return what happens next and is still of interest, or None in time."""
        ends = self._world.ticking() + seconds
        while True:
            left = max(0.0, ends - self._world.ticking())
            try:
                happened = self._happened.get(timeout=left)
            except queue.Empty:
                return None
            if isinstance(happened, Said | Gone) and happened.child is not self._child:
                continue
            return happened

    # One message

    def _received(self) -> Job | None:
        visibility = self._agent.visibility_seconds
        asked = self._world.ticking()
        with self._waiting:
            self._is_waiting = True
        try:
            record = self._inbox.receive(
                wait_seconds=self._wait, visibility_seconds=visibility
            )
        except BellhopError as error:
            self._failed_polls += 1
            pause = self._pause(self._failed_polls)
            telling.not_received(self._agent.name, error, pause)
            self._pulse.fails("the queue", str(error))
            self._stopping.wait(pause)
            return None
        finally:
            with self._waiting:
                self._is_waiting = False
        answered = self._world.ticking()
        self._failed_polls = 0
        self._pulse.polled()
        if record is None:
            self._protect(False)
            return None
        hold = Hold(asked=asked, answered=answered, visibility_seconds=visibility)
        return self._job(record, hold, is_prompt=answered - asked < _PROMPT_SECONDS)

    def _job(self, record: dict[str, Any], hold: Hold, *, is_prompt: bool) -> Job:
        # What the runner counts from it, SQS counts from this receive.
        now_ms = milliseconds(self._world.clock())
        record["attributes"]["ApproximateFirstReceiveTimestamp"] = str(now_ms)
        heart = Heartbeat(
            record["receiptHandle"],
            hold,
            self._world,
            _Listener(self, hold),
            period_seconds=self._agent.visibility_seconds / 3,
        )
        if not is_prompt:
            # It may have been handed out at the beginning of the wait for all we know.
            heart.beat()
        return Job(
            record=record, hold=hold, heart=heart, agent=self._agent, world=self._world
        )

    def _work(self, job: Job) -> None:
        self._pulse.began(job.message_id)
        job.heart.start()
        if not self._stopping.is_asked:
            self._replace_lost_child()
        if self._stopping.is_asked:
            # It came in the very moment of the signal.
            job.heart.finish()
            self._show(job, 0)
        else:
            self._protect(True)
            outcome = self._outcome(job)
            if isinstance(outcome, Why):
                self._ended(job, outcome)
            else:
                self._answered(job, outcome)
        self._pulse.ended()

    def _outcome(self, job: Job) -> Line | Why:
        """Hand the message to the child; return its verdict, or why there is none."""
        child = self._child
        if child is None:
            return Why.CRASHED
        until, limit = job.hold.leased_until, job.hold.hand_over
        if not child.send(run=job.record, leased_until=until, limit=limit):
            return Why.CRASHED
        while True:
            match self._next(job.patience(self._stopping)):
                case Said(line=line) if told.is_verdict(line):
                    return line
                case Said(line=line):
                    self._heard(job, line)
                case Gone():
                    return Why.CRASHED
                case Lost(hold=hold) if hold is job.hold:
                    return Why.LOST
                case Asked():
                    self._pass_on(job)
                case _:
                    pass
            why = job.why_to_end(self._stopping)
            if why is not None:
                return why

    def _heard(self, job: Job, line: Line) -> None:
        job.sign()
        self._pulse.signed()
        if told.is_claim(line):
            job.claimed(line)
            self._pulse.claimed(line["claimed"], line["attempt"])

    def _pass_on(self, job: Job) -> None:
        """Tell the run that the worker is asked to stop."""
        telling.stopping(
            self._agent.name,
            grace_seconds=self._agent.grace_seconds,
            event_id=job.event_id,
        )
        if self._child is not None:
            self._child.send(stop=True)

    def _answered(self, job: Job, line: Line) -> None:
        """Do with the message what the verdict says."""
        job.heart.finish()
        if line["is_done"]:
            self._delete(job)
        elif line["hide_seconds"] is not None:
            self._show(job, line["hide_seconds"])
        child = self._child
        if child is None:
            return
        child.clear()
        if child.is_swollen(self._agent.memory_mb):
            # What it has kept would leave the next run too little.
            self._end_child()

    def _ended(self, job: Job, why: Why) -> None:
        """End the run's process, and then the run, unless it has told its verdict."""
        child = self._child
        exit_code = None
        if child is not None:
            child.end()
            exit_code = child.exit_code
            line = self._last_word(job)
            self._child = None
            if line is not None and why is not Why.LOST:
                self._answered(job, line)
                return
        job.heart.finish()
        telling.killed(
            self._agent.name,
            why,
            event_id=job.event_id,
            message_id=job.message_id,
            exit_code=exit_code,
        )
        seconds = self._release.shown_in(job, why, exit_code)
        if seconds is not None:
            self._show(job, seconds)

    def _last_word(self, job: Job) -> Line | None:
        """Return the verdict that the ended child has told before, if it has."""
        ends = self._world.ticking() + _LAST_WORDS_SECONDS
        while (left := ends - self._world.ticking()) > 0:
            match self._next(left):
                case Said(line=line) if told.is_verdict(line):
                    return line
                case Said(line=line):
                    self._heard(job, line)
                case None | Gone():
                    break
                case _:
                    pass
        return None

    # The queue

    def _delete(self, job: Job) -> None:
        # Once it may be another's, deleting it might take a carrier away from a run
        # that began since. It comes back, and the ledger knows that it is done.
        if not job.heart.is_held:
            return
        try:
            self._inbox.delete(job.receipt)
        except BellhopError as error:
            telling.not_done(self._agent.name, "deleted", job.message_id, error)

    def _show(self, job: Job, seconds: int) -> None:
        """Show the message again so many seconds from now."""
        if not job.heart.is_held:
            return
        longest = max(0, math.floor(job.hold.limit - self._world.ticking()))
        try:
            self._inbox.hide(job.receipt, min(seconds, longest))
        except BellhopError as error:
            telling.not_done(self._agent.name, "shown", job.message_id, error)

    def _protect(self, wanted: bool) -> None:
        if self._protected is not None:
            self._protected.want(wanted)

    def _pause(self, failures: int) -> float:
        most = min(_LONGEST_PAUSE_SECONDS, 2.0 ** min(failures, 10))
        return self._chance(most / 2, most)

    # What the heartbeat tells, from its thread

    def renewed(self, holding: Holding, ends_ms: int, until: float) -> None:
        """Let the run know for how long it may go on."""
        child = self._child
        if child is not None:
            child.send(lease=ends_ms, until=until, token=holding.token)

    def lost(self, hold: Hold) -> None:
        """The message, or its run, may be another's."""
        self._happened.put(Lost(hold))

    def beaten(self, error: BellhopError | None) -> None:
        """A heartbeat was made, or failed."""
        if error is None:
            self._pulse.works("the heartbeat")
        else:
            self._pulse.fails("the heartbeat", str(error))
            telling.not_beaten(self._agent.name, error)


class _Listener:
    """Hears the heartbeat of one message."""

    def __init__(self, supervisor: Supervisor, hold: Hold) -> None:
        self._supervisor, self._hold = supervisor, hold
        self.renewed = supervisor.renewed
        self.beaten = supervisor.beaten

    def lost(self) -> None:
        self._supervisor.lost(self._hold)
