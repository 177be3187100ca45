"""What a worker calls of the world, with a stand of its process before each call."""

from __future__ import annotations

from lambdas.shared.story import CHECKPOINT, RUN, STEP
from lambdas.shared.table import Change, Condition, Outcome, Row
from tests.fakes.clock import FakeClock
from tests.fakes.ledger import FakeTable
from tests.model.process import call, working
from tests.model.queue import ModelQueue
from tests.model.rules import Watch


class StandingTable(FakeTable):
    """A table before every call of which the calling process stands."""

    def __init__(self, watch: Watch, clock: FakeClock) -> None:
        super().__init__()
        self._watch = watch
        self._clock = clock

    def put(self, row: Row, *, when: Condition | None = None) -> bool:
        make = super().put
        name = f"put {row['sk']}"
        return bool(call(name, lambda: make(row, when=when)))

    def get(self, pk: str, sk: str) -> Row | None:
        make = super().get
        found: Row | None = call(f"get {sk}", lambda: make(pk, sk))
        return found

    def update(self, pk: str, sk: str, change: Change, *, when: Condition) -> Outcome:
        make = super().update

        def made() -> Outcome:
            old = self.rows.get((pk, sk), {})
            outcome = make(pk, sk, change, when=when)
            if outcome.done:
                self._saw(pk, sk, old, outcome.row)
            return outcome

        outcome: Outcome = call(f"update {sk}", made)
        return outcome

    def _saw(self, pk: str, sk: str, old: Row, new: Row) -> None:
        if sk.startswith(RUN):
            self._watch.run_row(working(), old, new, self._clock.ms)
        elif sk.startswith(STEP):
            name = sk.rpartition("#")[2]
            self._watch.stored.add((pk, name, new["generation"]))
        elif sk.startswith(CHECKPOINT) and new.get("version") != old.get("version"):
            self._watch.saved(working(), new["attempt"])


class StandingQueue:
    """The queue before every call of which the calling process stands."""

    def __init__(self, queue: ModelQueue) -> None:
        self._queue = queue

    def hide(self, receipt: str, seconds: int) -> None:
        call("hide", lambda: self._queue.hide(receipt, seconds))
