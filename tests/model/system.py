"""The real runner between a model of SQS, a table in memory and an outside world.

A case is a list of moves. Each is one line of text, so that a case that breaks a
rule can be printed, read, and played again.
"""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass, replace
from typing import Any

from lambdas.shared.errors import GiveUp, RetryLater, Unavailable
from lambdas.shared.event import Event
from lambdas.shared.ledger import TableLedger
from lambdas.shared.story import EFFECT, RUN
from lambdas.shared.table import Row
from lambdas.worker.delivery import Message
from lambdas.worker.runner import Ports, Runner
from tests.fakes.clock import FakeClock
from tests.fakes.ledger import FakeBodies
from tests.fakes.worker import (
    ISSUE,
    LEDGER_DAYS,
    TRIAGE,
    FakeTime,
    envelope,
    record,
)
from tests.model.outside import LONG_SECONDS, Kind, Outside
from tests.model.ports import StandingQueue, StandingTable
from tests.model.process import Call, Process, call, working
from tests.model.queue import Letter, ModelQueue, Place
from tests.model.rules import OVER, Watch, Work

SPEC = replace(
    TRIAGE,
    timeout_seconds=3,
    max_receives=3,
    backoff_base_seconds=1,
    backoff_max_seconds=4,
)
LEASE_MS = SPEC.timeout_seconds * 1000
EFFECTS = ("order", "tell")
# More calls than any worker makes.
TO_THE_END = 1000


class Broken(Exception):
    """A rule did not hold."""


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that happens; ``what`` names an event, a message or a worker."""

    verb: str
    what: str = ""
    number: int = 0

    def __str__(self) -> str:
        return f"{self.verb} {self.what} {self.number or ''}".replace("  ", " ").strip()

    @classmethod
    def read(cls, line: str) -> Move:
        verb, what, number = (*line.split(), "", "")[:3]
        if what.isdigit():
            what, number = "", what
        return cls(verb, what, int(number or 0))


class System:
    """Events, their messages, and the workers that were started for them."""

    def __init__(self, kind: Kind) -> None:
        self.clock = FakeClock()
        self.queue = ModelQueue(
            self.clock,
            visibility_ms=SPEC.visibility_seconds * 1000,
            receives=SPEC.max_receives,
        )
        self.watch = Watch(queue=self.queue, max_receives=SPEC.max_receives)
        self.outside = Outside(kind)
        self.table = StandingTable(self.watch, self.clock)
        self.bodies = FakeBodies()
        self.ledger = TableLedger(self.table, self.bodies, ledger_days=LEDGER_DAYS)
        self.workers: dict[str, Process] = {}
        self.hosts: dict[str, FakeTime] = {}
        self.events: dict[str, Event] = {}
        #: The highest that were asked for: of the run, and of its effects.
        self.generations: dict[str, tuple[int, int]] = {}
        #: Events that met a crash, a failed call, a stop, or two deliveries at once.
        self.disturbed: set[str] = set()
        tokens = itertools.count(1)
        ports = Ports(
            ledger=self.ledger,
            table=self.table,
            bodies=self.bodies,
            queue=StandingQueue(self.queue),
            send=lambda body: call("send", lambda: self.queue.carry_on(body)),
            ticking=lambda: self.clock.ms / 1000,
            secret_of=str,
            clock=self.clock,
            chance=max,
            token=lambda: f"token-{next(tokens)}",
        )
        self._runner = Runner(SPEC, ports, load=lambda *_: self._agent)

    def row(self, event_id: str) -> Row:
        return self.table.rows.get((event_id, f"{RUN}{SPEC.key}"), {})

    def do(self, move: Move) -> bool:
        """Make ``move``; ``False`` when it cannot be made now."""
        # No two things happen in the same millisecond.
        self.clock.advance(0.001)
        made: bool = getattr(self, f"_{move.verb}")(move)
        if self.watch.broken:
            raise Broken(self.watch.broken[0])
        return made

    # Moves

    def _send(self, move: Move) -> bool:
        """Send an event's message, as the relay does once or more."""
        if move.what not in self.events:
            event = replace(ISSUE, id=move.what, received_at=self.clock())
            self.events[event.id] = event
            self.generations[event.id] = (0, 0)
            self.ledger.accept(event)
        letter = self.queue.send(move.what, *self.generations[move.what])
        letter.is_asked_for = False
        return True

    def _replay(self, move: Move) -> bool:
        """Send a message made from the ledger, as ``bellhop replay`` does."""
        if move.what not in self.events:
            return False
        row = self.row(move.what)
        generation = row.get("generation", 0)
        effects = row.get("effects_generation", generation)
        self.queue.send(move.what, generation, effects, row.get("envelope_id", ""))
        return True

    def _double(self, move: Move) -> bool:
        """Deliver one publication as two messages, as the bus may."""
        letter = self.queue.letters.get(move.what)
        if letter is None:
            return False
        self.queue.double(letter)
        return True

    def _again(self, move: Move) -> bool:
        """Replay for fresh effects."""
        return self._anew(move.what, keeps_effects=False)

    def _keep(self, move: Move) -> bool:
        """Replay what is done already, and keep the effects that were made."""
        return self._anew(move.what, keeps_effects=True)

    def _anew(self, event_id: str, *, keeps_effects: bool) -> bool:
        if event_id not in self.events:
            return False
        generation, effects = self.generations[event_id]
        fresh = (generation + 1, effects if keeps_effects else generation + 1)
        self.generations[event_id] = fresh
        self.queue.send(event_id, *fresh)
        return True

    def _receive(self, move: Move) -> bool:
        letter = self.queue.letters.get(move.what)
        return letter in self.queue.visible() and self._started(letter)

    def _repeat(self, move: Move) -> bool:
        """Deliver a hidden message: at least once means more than once, too."""
        letter = self.queue.letters.get(move.what)
        if letter is None or letter not in self.queue.repeatable():
            return False
        self.disturbed.add(letter.event_id)
        return self._started(letter)

    def _go(self, move: Move, first: Call = Call.MADE) -> bool:
        process = self.workers.get(move.what)
        if process is None or process.is_over:
            return False
        first = self._possible(process, first)
        if first is not Call.MADE:
            self.disturbed.add(process.work.letter.event_id)
        process.go(move.number or 1, first)
        return True

    def _crash(self, move: Move) -> bool:
        return self._go(move, Call.CRASH)

    def _fail(self, move: Move) -> bool:
        return self._go(move, Call.FAIL)

    def _lose(self, move: Move) -> bool:
        return self._go(move, Call.LOSE)

    def _twice(self, move: Move) -> bool:
        return self._go(move, Call.TWICE)

    def _giveup(self, move: Move) -> bool:
        return self._go(move, Call.GIVE_UP)

    def _stop(self, move: Move) -> bool:
        """Tell a worker to stop, as a deploy does; its agent hears of it."""
        process, host = self.workers.get(move.what), self.hosts.get(move.what)
        if process is None or process.is_over or host is None:
            return False
        host.stopping = True
        # Told before it has saved anything, it spends a receive.
        self.disturbed.add(process.work.letter.event_id)
        return True

    def _wait(self, move: Move) -> bool:
        self.clock.advance(move.number / 1000)
        return True

    def _redrive(self, move: Move) -> bool:
        letter = self.queue.letters.get(move.what)
        if letter is None or letter.place is not Place.DEAD_LETTERS:
            return False
        self.queue.redrive(letter)
        return True

    def _resolve(self, move: Move) -> bool:
        """Look at the other side, and say of every effect in doubt what is true."""
        at_work = (p.work.letter.event_id for p in self.workers.values() if p.standing)
        if move.what in at_work:
            return False
        settled = False
        for name in EFFECTS:
            row = self.table.rows.get((move.what, f"{EFFECT}{SPEC.key}#{name}"), {})
            settled |= self.ledger.settle(
                move.what,
                SPEC.key,
                name,
                happened=row.get("operation_id") in self.outside.operations,
                at=self.clock(),
            )
        return settled

    # The worker

    def _started(self, letter: Letter) -> bool:
        if any(p.work.letter is letter and p.standing for p in self.workers.values()):
            self.disturbed.add(letter.event_id)
        if not self.queue.receive(letter):
            return False
        name = f"{letter.id}/{letter.receives}"
        work = Work(
            name=name,
            letter=letter,
            receipt=letter.receipt,
            latest_start_ms=letter.visible_ms - LEASE_MS - 1,
        )
        self.hosts[name] = host = FakeTime(LEASE_MS)
        self.workers[name] = Process(work, lambda: self._invoke(work, host))
        return True

    def _invoke(self, work: Work, host: FakeTime) -> None:
        """Be Lambda: hand the message over, and delete it if it was done."""
        letter = work.letter
        event = self.events[letter.event_id]
        told = record(
            letter.body
            or {
                **envelope(
                    event,
                    generation=letter.generation,
                    effects_generation=letter.effects_generation,
                ),
                "id": letter.envelope_id,
            },
            message_id=letter.id,
            receive_count=letter.receives,
            sent_ms=letter.sent_ms,
        )
        told["receiptHandle"] = work.receipt
        first = "ApproximateFirstReceiveTimestamp"
        told["attributes"][first] = str(letter.first_received_ms)
        verdict = self._runner.take(Message.from_record(told), host)

        def answer() -> None:
            if verdict.is_done and self.queue.delete(work.receipt):
                self.watch.acknowledged(work, self.row(letter.event_id))

        # An answer that does not reach Lambda is as a crash: the message comes back.
        with contextlib.suppress(Unavailable):
            call("answer", answer)

    def _agent(self, _: Event, run: Any) -> None:
        work = working()
        self.watch.agent_began(work, self.clock.ms)
        try:
            self._work(work, run)
        finally:
            self.watch.agent_ended(work)

    def _work(self, work: Work, run: Any) -> None:
        state = run.resumed_from or {"next": 0}
        self.watch.resumed(work, run.attempt)
        while state["next"] < len(EFFECTS) and run.keep_going():
            number = state["next"]
            effect = EFFECTS[number]
            made = run.step(f"think-{number}", self._think, work, f"think-{number}")
            if made != {"thought": f"think-{number}"}:
                self.watch.breaks(f"a step returned {made!r}")
            run.effect(effect, self.outside.effect(work, effect))
            state["next"] += 1
            run.checkpoint(state)
        # Only a loop that came to its end may go on from here.
        run.step("close", int)
        call(
            "return",
            lambda: None,
            {
                Call.FAIL: RetryLater("busy", after=LONG_SECONDS),
                Call.LOSE: ValueError("bug"),
                Call.GIVE_UP: GiveUp("never"),
            },
        )

    def _think(self, work: Work, name: str) -> dict[str, str]:
        self.watch.step_began(work, name)
        call(name, lambda: None, {Call.GIVE_UP: GiveUp("never")})
        return {"thought": name}

    def _possible(self, process: Process, first: Call) -> Call:
        work = process.work
        # Lambda begins soon after the receive or not at all: the visibility of six
        # time-outs leaves five for that.
        is_new = process.standing == "start"
        if is_new and self.clock.ms > work.latest_start_ms:
            return Call.CRASH
        # A second delivery of a message that was deleted can carry nothing. One that
        # begins after the deletion is excepted in docs/reference/guarantees.md.
        if is_new and work.letter.place is Place.GONE:
            return Call.CRASH
        # Of a message that was delivered twice at once, one was refused as a duplicate,
        # and the other carries the run by now. docs/reference/guarantees.md says so.
        row = self.row(work.letter.event_id)
        is_refused = process.standing == "answer" and not work.ran
        is_carrier = row.get("carrier") == work.letter.id
        if is_refused and is_carrier and row["state"] not in OVER:
            return Call.CRASH
        # Looking and sending are two calls: nothing can bind them where the other
        # side knows no keys. docs/reference/guarantees.md says so.
        is_between = process.standing.startswith("effect")
        is_late = work.leased_until_ms <= self.clock.ms
        if self.outside.kind is Kind.SHOWS and is_between and is_late:
            return Call.CRASH
        return first

    def end(self) -> None:
        """Let no thread outlive its case."""
        for process in self.workers.values():
            process.go(1, Call.CRASH)
