"""The child: a process that runs the agent, one message after another.

It is told by lines on a socket (``run``, ``lease``, ``stop``) and tells by lines
(``ready``, ``claimed``, ``alive``, ``verdict``). It touches no message: what its
runner wants hidden travels with the verdict. It ends when its supervisor is gone.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

from lambdas.shared.adapters.lines import Line, Lines
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import deployed
from lambdas.shared.settings import WorkerSettings
from lambdas.worker import telling
from lambdas.worker.claim import Claim
from lambdas.worker.delivery import Message, NotOurs
from lambdas.worker.polling import bounds
from lambdas.worker.polling.hold import Ticking, ticking
from lambdas.worker.runner import Runner
from lambdas.worker.worker import runner_of

# A sign of life at every line of a log would be a line a microsecond.
_SIGN_SECONDS = 1.0
_LOOK_SECONDS = 1.0


class HiddenByWord:
    """A :class:`lambdas.worker.runner.Visibility` that only says what is wanted.

    The supervisor extends the same message meanwhile: whoever spoke last to the
    queue would win.
    """

    def __init__(self) -> None:
        """Nothing is wanted yet."""
        self.seconds: int | None = None

    def hide(self, receipt: str, seconds: int) -> None:  # noqa: ARG002 - one message
        """Note the wish."""
        self.seconds = seconds


class Told:
    """What the supervisor said, read by whichever thread looks first."""

    def __init__(
        self, lines: Lines, gone: Callable[[], None], ticking: Ticking = ticking
    ) -> None:
        """Call ``gone`` when there is no supervisor any more."""
        self._lines = lines
        self._ticking = ticking
        self._gone = gone
        self._acting = threading.Lock()
        self.runs: queue.SimpleQueue[Line] = queue.SimpleQueue()
        self.stopping = False
        self._claim: Claim | None = None
        self._pid = os.getpid()

    def listen(self) -> None:
        """Read until the supervisor is gone."""
        while True:
            # An agent that closes every file closes this one only once nobody waits on
            # it: until then the supervisor would hold it for silent, not for gone.
            self.look(_LOOK_SECONDS)

    def look(self, wait_seconds: float | None = 0) -> None:
        """Act on what has come.

        Also called by the run's own threads: one that held the interpreter for
        longer than its lease must not be the first to find it over.
        """
        if os.getpid() != self._pid:
            return  # a copy that the agent forked: what is said is not for it
        lines = self._lines.take(wait_seconds)
        if lines is None:
            self._gone()
            return
        for line in lines:
            self._act(line)

    def hold(self, claim: Claim | None) -> None:
        """Let what is said of the lease be about ``claim`` from here on."""
        with self._acting:
            self._claim = claim

    def _act(self, line: Line) -> None:
        match line:
            case {"run": _}:
                self.runs.put(line)
            case {"stop": _}:
                self.stopping = True
            case {"lease": int(ends_ms), "until": until, "token": token}:
                # What is left of it, whatever the clock says now.
                left_ms = int((until - self._ticking()) * 1000)
                with self._acting:
                    if self._claim is not None and self._claim.token == token:
                        self._claim.lease.extend(ends_ms, ends_ms - left_ms)
            case _:
                pass  # of a supervisor that says more than this one


class ChildHost:
    """A :class:`lambdas.worker.host.Host` that a supervisor watches over.

    Until the run is claimed its time is the message's: the lease is made of it.
    From then on it is the run's, since the supervisor renews the lease.
    """

    invocation = None

    def __init__(
        self,
        lines: Lines,
        told: Told,
        *,
        leased_until: float,
        limit: float,
        ticking: Ticking = ticking,
    ) -> None:
        """Ticks: until when a lease may last, and when the run is to hand over."""
        self._lines = lines
        self._told = told
        self._ends = leased_until
        self._limit = limit
        self._ticking = ticking
        self._signed = float("-inf")
        self._pid = os.getpid()
        self._is_over = False

    @property
    def stopping(self) -> bool:
        """See Host."""
        self._told.look()
        return self._told.stopping

    def get_remaining_time_in_millis(self) -> int:
        """See Host."""
        return max(0, int((self._ends - self._ticking()) * 1000))

    def claimed(self, claim: Claim) -> None:
        """See Host."""
        self._told.hold(claim)
        self._ends = self._limit
        self._lines.send(
            claimed=claim.event_id,
            key=claim.agent,
            token=claim.token,
            attempt=claim.attempt,
            begun_ms=claim.begun_ms,
            lease_ends_ms=claim.lease.ends_ms,
        )

    def alive(self) -> None:
        """See Host. What the agent forked is no sign of life of its run."""
        if self._is_over or os.getpid() != self._pid:
            return
        self._told.look()
        now = self._ticking()
        if now - self._signed >= _SIGN_SECONDS:
            self._signed = now
            self._lines.hint(alive=True)

    def over(self) -> None:
        """Give no sign from here on: a thread that outlives its run may still log.

        It would keep the next run alive, which may hang.
        """
        self._is_over = True


class Child:
    """Runs what it is given until it is told no more."""

    def __init__(
        self,
        agent: str,
        lines: Lines,
        told: Told,
        runner: Runner,
        hidden: HiddenByWord,
    ) -> None:
        """``hidden`` is the queue that ``runner`` speaks to."""
        self._agent = agent
        self._lines = lines
        self._told = told
        self._runner = runner
        self._hidden = hidden

    def serve(self) -> None:
        """Answer each ``run`` with one ``verdict``; never returns."""
        self._lines.send(ready=True)
        while True:
            self._lines.send(**self.run(self._told.runs.get()))

    def run(self, line: Line) -> Line:
        """Run one message to its verdict."""
        host = ChildHost(
            self._lines,
            self._told,
            leased_until=line["leased_until"],
            limit=line["limit"],
        )
        self._hidden.seconds = None
        try:
            verdict, is_done = self._verdict(line["run"], host)
        finally:
            host.over()
            self._told.hold(None)
        return {
            "verdict": verdict,
            "is_done": is_done,
            "hide_seconds": self._hidden.seconds,
        }

    def _verdict(self, record: dict[str, Any], host: ChildHost) -> tuple[str, bool]:
        message_id = record["messageId"]
        try:
            verdict = self._runner.take(Message.from_record(record), host)
        except NotOurs as error:
            telling.not_ours(self._agent, message_id, str(error))
            return "not_ours", False
        except BellhopError as error:
            telling.not_taken(self._agent, message_id, error)
            return "not_taken", False
        except Exception as error:
            telling.broken(self._agent, message_id, error)
            return "broken", False
        return str(verdict), verdict.is_done


def main(descriptor: str, parent: str) -> None:
    """Serve the supervisor ``parent`` on an inherited socket."""
    bounds.end_with(int(parent))
    lines = Lines.at(int(descriptor))
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    settings = WorkerSettings.from_env(os.environ)
    fleet = deployed()
    agent = fleet.agents[settings.agent_name]
    bounds.bound_memory(agent.memory_mb)
    hidden = HiddenByWord()
    runner = runner_of(agent, fleet, settings, hidden)
    # Nothing is worth a farewell: what it has not told, the ledger knows.
    told = Told(lines, gone=lambda: os._exit(1))
    threading.Thread(target=told.listen, name="told", daemon=True).start()
    Child(agent.name, lines, told, runner, hidden).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
