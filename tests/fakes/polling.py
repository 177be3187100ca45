"""A supervisor with everything around it in memory; no process runs."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lambdas.shared.adapters.lines import Line
from lambdas.shared.fleet import Agent
from lambdas.shared.story import State
from lambdas.worker.polling.heartbeat import World
from lambdas.worker.polling.process import Gone, Said
from lambdas.worker.polling.pulse import Pulse
from lambdas.worker.polling.signals import Stopping
from lambdas.worker.polling.supervisor import Supervisor
from tests.fakes.clock import FakeClock
from tests.fakes.ledger import FakeTable

AGENT = Agent(
    name="triage",
    run="agents.triage:run",
    on=(),
    compute="fargate",
    stall_seconds=60,
    grace_seconds=10,
    max_receives=3,
)


class FakeInbox:
    """The queue, as the worker sees it; once it is empty, the worker is stopped."""

    def __init__(self, stopping: Stopping) -> None:
        self.waiting: list[int] = []
        self.deleted: list[str] = []
        self.shown: list[tuple[str, int]] = []
        self.failures: list[Exception] = []
        self.received = 0
        self.at_receive: Callable[[], None] = lambda: None
        self._stopping = stopping
        self._numbers = itertools.count(1)

    def receive(
        self, *, wait_seconds: int, visibility_seconds: int
    ) -> dict[str, Any] | None:
        assert (wait_seconds, visibility_seconds) == (20, 90)
        if self.failures:
            raise self.failures.pop(0)
        self.at_receive()
        if not self.waiting:
            self._stopping.ask()
            return None
        number = next(self._numbers)
        return {
            "messageId": f"m{number}",
            "receiptHandle": f"r{number}",
            "body": "{}",
            "attributes": {"ApproximateReceiveCount": str(self.waiting.pop(0))},
        }

    def delete(self, receipt: str) -> None:
        self.deleted.append(receipt)

    def hide(self, receipt: str, seconds: int) -> None:
        self.shown.append((receipt, seconds))


class Story:
    """A :class:`.supervisor.Happenings`: what a child does next happens when asked.

    A line is told, a callable is called, ``None`` is the child's end. When nothing is
    left to happen, time passes.
    """

    def __init__(self, passes: Callable[[float], Any]) -> None:
        self.scripts: list[list[Any]] = []
        self._now: list[Any] = []
        self._child: FakeChild | None = None
        self._happened: list[Any] = []
        self._passes = passes

    def begins(self, child: FakeChild) -> None:
        self._now, self._child = self.scripts.pop(0), child

    def put(self, item: Any) -> None:
        self._happened.append(item)

    def get(self, *, timeout: float) -> Any:
        while not self._happened:
            if not self._now:
                self._passes(timeout)()
                raise queue.Empty
            each, child = self._now.pop(0), self._child
            if callable(each):
                each()
            elif each is None:
                assert child is not None
                child.exit_code = -9
                self.put(Gone(child))  # type: ignore[arg-type]
            else:
                self.put(Said(child, each))  # type: ignore[arg-type]
        return self._happened.pop(0)


@dataclass
class FakeChild:
    """A :class:`.process.ChildProcess` that does what the story says."""

    tell: Callable[[Any], None]
    story: Story
    sent: list[Line] = field(default_factory=list)
    #: What is still on the line when it is ended.
    last_words: list[Line] = field(default_factory=list)
    exit_code: int | None = None
    ended: int = 0

    def send(self, **fields: Any) -> bool:
        self.sent.append(fields)
        if "run" in fields:
            self.story.begins(self)
        return True

    def end(self) -> None:
        self.ended += 1
        for line in self.last_words:
            self.tell(Said(self, line))  # type: ignore[arg-type]
        self.tell(Gone(self))  # type: ignore[arg-type]

    def clear(self) -> None:
        pass

    def is_swollen(self, megabytes: int) -> bool:
        return megabytes < 0


class Rig:
    """A supervisor with everything around it in memory; its time passes by itself."""

    def __init__(self, *script: list[Any], agent: Agent = AGENT) -> None:
        self.clock = FakeClock()
        self.now = 1_000.0
        self.stopping = Stopping(lambda: self.now)
        self.inbox = FakeInbox(self.stopping)
        self.inbox.waiting = [1]
        self.table = FakeTable()
        self.children: list[FakeChild] = []
        self.story = Story(self.passes)
        self.script = self.story.scripts
        self.script += script
        self.last_words: list[Line] = []
        self.at_start: Callable[[], None] = lambda: None
        self.agent = agent
        self.pulse = Pulse(agent, self.clock, lambda: self.now, wait_seconds=20)
        self.supervisor = Supervisor(
            agent,
            inbox=self.inbox,
            world=World(
                queue=self.inbox,
                table=self.table,
                clock=self.clock,
                ticking=lambda: self.now,
            ),
            stopping=self.stopping,
            pulse=self.pulse,
            start=self._start,  # type: ignore[arg-type]
            chance=min,
            happened=self.story,
        )

    def loses(self, child: FakeChild) -> None:
        """An idle child ends."""
        if not child.ended:
            child.exit_code = -9
            child.tell(Gone(child))  # type: ignore[arg-type]

    def _start(self, tell: Callable[[Any], None]) -> FakeChild:
        self.at_start()
        child = FakeChild(tell, self.story, last_words=self.last_words)
        self.children.append(child)
        tell(Said(child, {"ready": True}))  # type: ignore[arg-type]
        return child

    def passes(self, seconds: float) -> Callable[[], None]:
        def pass_() -> None:
            self.now += seconds
            self.clock.advance(seconds)

        return pass_

    def claims(self, attempt: int = 1) -> Callable[[], None]:
        """The child claims the run in the ledger, and says so."""

        def claim() -> None:
            due = self.clock.ms + 85_000
            row = {
                "pk": "github:1",
                "sk": "run#triage",
                "state": State.PROCESSING,
                "claim_token": "mine",
                "due_at": due,
            }
            self.table.put(row)
            child = self.children[-1]
            line = {
                "claimed": "github:1",
                "key": "triage",
                "token": "mine",
                "attempt": attempt,
                "begun_ms": self.clock.ms,
                "lease_ends_ms": due,
            }
            child.tell(Said(child, line))  # type: ignore[arg-type]

        return claim

    @property
    def row(self) -> dict[str, Any]:
        return self.table.rows["github:1", "run#triage"]

    def ends(self, state: State, **more: Any) -> Callable[[], None]:
        return lambda: self.row.update(state=state, **more)
