"""One schedule's lease and line: which tick has its turn, and which ones wait for it.

Both are rows of the ledger under ``schedule#<name>``: ``state`` names the tick that
has its turn (``active``), ``waiting#<planned time>`` is a tick in line. (The watcher
keeps ``watch`` and ``missed#<planned time>`` there as well.) Nobody holds
the lease by staying alive: whether the active tick is over is read from the rows of
its own runs, so a crash leaves nothing locked. Every step may be repeated, and who
comes next finishes what a crash left half done:

* a tick is put in line before its writer looks whether its turn has come;
* a turn is given by one conditional update, and the tick accepted after it: a turn
  given to a tick that is not accepted yet is accepted by whoever sees it next;
* a tick leaves the line only after it was accepted.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from lambdas.shared.clock import Clock, milliseconds
from lambdas.shared.errors import Unavailable
from lambdas.shared.fleet import Agent, Schedule
from lambdas.shared.ledger import EVENT_ROW, TableLedger
from lambdas.shared.story import RUN, RunRecord, State, is_stranded
from lambdas.shared.table import NEW, Absent, Below, Change, Condition, Is, Row, Table
from lambdas.shared.ticks.tick import Tick, planned_of, text_of

STATE, WAITING, MISSED = "state", "waiting#", "missed#"
_IN_LINE, _RELEASED = "WAITING", "RELEASED"

# Lambda repeats a failed invocation within minutes: a turn that was taken and not
# used by then never will be.
_UNUSED = timedelta(minutes=15)
# The sweep relays what was lost after 60 minutes at most; twice that is never.
_NEVER_BEGUN = timedelta(hours=2)
# Each round of `advance` makes progress, or somebody else has made some.
_ROUNDS = 20

_OVER = frozenset({State.SUCCEEDED, State.DEAD, State.SKIPPED, State.MISSED})


class Standing(StrEnum):
    """Where a tick is, all of its events together."""

    #: Not all of its events are in the ledger.
    UNACCEPTED = "unaccepted"
    #: A run of it has not ended, or not begun.
    GOING = "going"
    #: Its runs have ended, each in whatever way.
    OVER = "over"
    #: A run of it will never end: it crashed and nothing brings it back.
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A tick as the ledger shows it; ``runs`` are the run rows there are."""

    standing: Standing
    runs: tuple[Row, ...] = ()


def pk_of(schedule: str) -> str:
    """Return under which key the rows of a schedule lie."""
    return f"schedule#{schedule}"


class Line:
    """The lease and the line of one schedule."""

    def __init__(
        self,
        schedule: Schedule,
        agent: Agent,
        *,
        ledger: TableLedger,
        table: Table,
        clock: Clock,
    ) -> None:
        """Judge runs of ``agent``, which the schedule wakes."""
        self._schedule = schedule
        self._agent = agent
        self._ledger = ledger
        self._table = table
        self._clock = clock
        self._pk = pk_of(schedule.name)

    def take(self, tick: Tick) -> str | None:
        """Give ``tick`` its turn, if none else has it.

        Returns None when it has it (already), or the planned time of the tick
        whose turn it is.

        Raises:
            Unavailable: it changes hands faster than it can be taken.
        """
        mine = text_of(tick.planned)
        for _ in range(_ROUNDS):
            if self._give(tick, Absent("active") | Is("active", mine)):
                return None
            state = self.state()
            active = state.get("active")
            if active is None:
                continue
            if self._is_going(state):
                return str(active)
            if self._give(tick, Is("active", active)):
                return None
        raise Unavailable(f"the turn of {self._schedule.name} keeps changing hands")

    def put(self, tick: Tick) -> bool:
        """Put ``tick`` in line; ``False`` if it was. Then call :meth:`advance`."""
        now = self._clock()
        row = {
            "pk": self._pk,
            "sk": f"{WAITING}{text_of(tick.planned)}",
            "state": _IN_LINE,
            "items": json.dumps(list(tick.items)),
            "written_at": milliseconds(now),
            "expires_at": self._ledger.expires_at(tick.events(now)[0]),
        }
        return self._table.put(row, when=NEW)

    def advance(self) -> list[Tick]:
        """Give the oldest tick in line its turn, if nobody has it; accept it.

        Returns the ticks that were let go by this call. Anybody may call it at
        any time.
        """
        released: list[Tick] = []
        for _ in range(_ROUNDS):
            state = self.state()
            active = state.get("active")
            if active is not None and self._is_going(state):
                half_done = self._in_line(active)
                if half_done is None or not self._is_unaccepted(half_done):
                    break
                self._let_in(half_done)
                released.append(half_done)
                break
            free = Absent("active") if active is None else Is("active", active)
            oldest = self.oldest()
            if oldest is None:
                # Who puts a tick in line after our look calls this as well. The one
                # whose turn it was keeps it: it is over, and so in nobody's way.
                break
            if self._give(oldest, free):
                self._let_in(oldest)
                released.append(oldest)
        return released

    def oldest(self) -> Tick | None:
        """Return the tick that has waited longest, if one waits."""
        return next(iter(self.waiting()), None)

    def waiting(self) -> list[Tick]:
        """Return the ticks in line, in order."""
        return [self._tick(row) for row in self._rows() if row["state"] == _IN_LINE]

    def waits_since(self, planned: datetime) -> int | None:
        """Return when a tick was put in line, in epoch milliseconds, if it was."""
        row = self._table.get(self._pk, f"{WAITING}{text_of(planned)}")
        return None if row is None else int(row["written_at"])

    def forget_released(self, delete: Callable[[str, str], None]) -> None:
        """Remove the rows of ticks that have left the line."""
        for row in self._rows():
            if row["state"] == _RELEASED:
                delete(row["pk"], row["sk"])

    def note(self, planned: datetime) -> None:
        """Note the newest tick that came, for people and for a rate's next fire."""
        text = text_of(planned)
        change = Change(
            set={"last_planned": text, "last_came_at": milliseconds(self._clock())}
        )
        is_newer = Absent("last_planned") | Below("last_planned", text)
        self._table.update(self._pk, STATE, change, when=is_newer)

    def look(self, ids: list[str]) -> Look:
        """Look at the events of one tick, all that is known of their runs."""
        runs: list[Row] = []
        standings = {Standing.OVER}
        for id_ in ids:
            run = self._table.get(id_, f"{RUN}{self._agent.key}")
            if run is not None:
                runs.append(run)
                standings.add(self._standing_of(run))
                continue
            event = self._table.get(id_, EVENT_ROW)
            if event is None:
                standings.add(Standing.UNACCEPTED)
                continue
            came = datetime.fromisoformat(event["received_at"])
            is_lost = self._clock() - came > _NEVER_BEGUN
            standings.add(Standing.LOST if is_lost else Standing.GOING)
        order = (Standing.UNACCEPTED, Standing.GOING, Standing.LOST, Standing.OVER)
        standing = next(each for each in order if each in standings)
        return Look(standing=standing, runs=tuple(runs))

    def state(self) -> Row:
        """Return the row of the schedule's state, empty where there is none."""
        return self._table.get(self._pk, STATE) or {}

    def _standing_of(self, run: Row) -> Standing:
        if run["state"] in _OVER:
            return Standing.OVER
        is_lost = is_stranded(
            RunRecord.from_row(run),
            self._agent.visibility_seconds,
            milliseconds(self._clock()),
        )
        return Standing.LOST if is_lost else Standing.GOING

    def _is_going(self, state: Row) -> bool:
        """Whether the tick that has its turn still needs it."""
        is_accepted = True
        for id_ in json.loads(state["active_ids"]):
            standing = self.look([id_]).standing
            # Of a wide fan-out the first that is not over says it all.
            if standing is Standing.GOING:
                return True
            is_accepted = is_accepted and standing is not Standing.UNACCEPTED
        unused = milliseconds(self._clock() - _UNUSED)
        return not is_accepted and (
            state["active_since"] > unused or self._in_line(state["active"]) is not None
        )

    def _is_unaccepted(self, tick: Tick) -> bool:
        return self.look(tick.ids).standing is Standing.UNACCEPTED

    def _give(self, tick: Tick, when: Condition) -> bool:
        change = Change(
            set={
                "active": text_of(tick.planned),
                "active_ids": json.dumps(tick.ids),
                "active_since": milliseconds(self._clock()),
            }
        )
        return self._table.update(self._pk, STATE, change, when=when).done

    def _let_in(self, tick: Tick) -> None:
        """Accept a tick whose turn it is, and take it out of the line."""
        for event in tick.events(self._clock()):
            self._ledger.accept(event)
        sk = f"{WAITING}{text_of(tick.planned)}"
        change = Change(set={"state": _RELEASED})
        self._table.update(self._pk, sk, change, when=Is("state", _IN_LINE))

    def _in_line(self, planned: str) -> Tick | None:
        row = self._table.get(self._pk, f"{WAITING}{planned}")
        return self._tick(row) if row and row["state"] == _IN_LINE else None

    def _rows(self) -> list[Row]:
        return list(self._table.query(self._pk, WAITING))

    def _tick(self, row: Row) -> Tick:
        items: list[Any] = json.loads(row["items"])
        return Tick(
            schedule=self._schedule.name,
            planned=planned_of(row["sk"].removeprefix(WAITING)),
            items=tuple(items),
        )
