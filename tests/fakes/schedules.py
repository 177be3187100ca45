"""A fleet's schedules: the parts are real, everything around them is in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from lambdas.shared.errors import Unavailable
from lambdas.shared.event import Event
from lambdas.shared.fleet import Schedule, parse
from lambdas.shared.ledger import TableLedger
from lambdas.shared.story import RunRecord, State
from lambdas.shared.table import Change, Condition, Outcome, Row
from lambdas.shared.ticks import Fired, Line, Ticks, pk_of
from lambdas.watcher.watcher import Watcher
from lambdas.worker.claim import Verdict
from lambdas.worker.delivery import Delivery
from lambdas.worker.runner import Ports, Runner
from tests.fakes.clock import FakeClock
from tests.fakes.ledger import FakeBodies, FakeTable
from tests.fakes.worker import FakeQueue, FakeTime

AGENT = """
[agents.sweeper]
run = "agents.hello:run"
timeout_seconds = 300
"""


class BigTable(FakeTable):
    """The table in memory, also quick where it holds a year: keys by partition."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[str, set[str]] = {}

    def put(self, row: Row, *, when: Condition | None = None) -> bool:
        self._keys.setdefault(row["pk"], set()).add(row["sk"])
        return super().put(row, when=when)

    def update(self, pk: str, sk: str, change: Change, *, when: Condition) -> Outcome:
        self._keys.setdefault(pk, set()).add(sk)
        return super().update(pk, sk, change, when=when)

    def query(self, pk: str, prefix: str = "") -> Any:
        self._called("query")
        found = [sk for sk in self._keys.get(pk, ()) if sk.startswith(prefix)]
        rows = (self.rows.get((pk, sk)) for sk in sorted(found))
        return iter([dict(row) for row in rows if row is not None])


class Clockwork:
    """Schedules of one agent, ``sweeper``, with real line, watcher and worker.

    ``schedules`` holds the lines of each one's table in ``fleet.toml``.
    """

    def __init__(
        self,
        start: datetime,
        schedules: Mapping[str, str],
        *,
        table: Any = None,
        agent: Callable[[Event, Any], Any] = lambda *_: None,
    ) -> None:
        self.clock = FakeClock(start)
        self.table: Any = BigTable() if table is None else table
        self.ledger = TableLedger(self.table, FakeBodies(), ledger_days=45)
        self.agent = agent
        self.change(schedules)

    def change(self, schedules: Mapping[str, str]) -> None:
        """Deploy the schedules anew, as these."""
        tables = [
            f'[schedules.{name}]\nagent = "sweeper"\n{lines}'
            for name, lines in schedules.items()
        ]
        self.fleet = parse("\n".join([AGENT, *tables]))
        self.ticks = Ticks(
            fleet=self.fleet, ledger=self.ledger, table=self.table, clock=self.clock
        )
        self.watcher = Watcher(self.ticks, delete=self.table.delete)
        self._runner = Runner(
            self.fleet.agents["sweeper"],
            Ports(
                ledger=self.ledger,
                table=self.table,
                bodies=FakeBodies(),
                queue=FakeQueue(),
                send=FakeQueue().send,
                secret_of="value of {}".format,
                clock=self.clock,
                chance=max,
                token=self._token,
                run_over=self.ticks.run_over,
            ),
            load=lambda *_: self.agent,
        )
        self._tokens = 0

    def schedule(self, name: str) -> Schedule:
        return self.fleet.schedules[name]

    def line(self, name: str) -> Line:
        return self.ticks.line(self.schedule(name))

    def fire(self, name: str, planned: datetime | None = None) -> Fired:
        return self.ticks.fire(self.schedule(name), planned or self.clock())

    def deliver(
        self, event_id: str, *, receive_count: int = 1, stopping: bool = False
    ) -> Verdict:
        """Hand an accepted event to the worker, as its queue would."""
        event = self.ledger.event(event_id)
        assert event is not None
        delivery = Delivery(
            event_id=event_id,
            agent="sweeper",
            message_id=f"m-{event_id}",
            sent_ms=self.clock.ms,
            first_received_ms=self.clock.ms,
            receive_count=receive_count,
            receipt="receipt",
            expires_at=self.ledger.expires_at(event),
            received_at=event.received_at,
        )
        return self._runner.run(delivery, FakeTime(300_000, stopping=stopping))

    def crash(self, event_id: str, *, receive_count: int = 1) -> None:
        """Let a worker claim the run and be killed in it: its end is not written."""
        agent = self.agent

        def dies(*_: Any) -> None:
            self.table.failures = [Unavailable("killed")]

        self.agent = dies
        verdict = self.deliver(event_id, receive_count=receive_count)
        self.agent = agent
        assert (verdict, self.table.failures) == (Verdict.UNDECIDED, [])

    def accepted(self) -> list[str]:
        """Return the events that the relay would carry, in order of acceptance."""
        rows = [
            row
            for (_, sk), row in self.table.rows.items()
            if sk == "event" and not row.get("ignored")
        ]
        return [row["pk"] for row in sorted(rows, key=lambda row: row["received_at"])]

    def run(self, event_id: str) -> RunRecord | None:
        story = self.ledger.story(event_id)
        return story.runs[0] if story is not None and story.runs else None

    def state_of(self, event_id: str) -> State | None:
        run = self.run(event_id)
        return None if run is None else run.state

    def reported(self, name: str) -> dict[str, datetime]:
        """Return the misses that were reported: planned time to time of report."""
        return {
            row["sk"].removeprefix("missed#"): datetime.fromtimestamp(
                row["reported_at"] / 1000, UTC
            )
            for row in self.table.query(pk_of(name), "missed#")
        }

    def _token(self) -> str:
        self._tokens += 1
        return f"token-{self._tokens}-{id(self)}"
