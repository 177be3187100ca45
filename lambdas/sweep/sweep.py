"""What the relay missed is relayed again: each window of acceptance read once.

An event that an agent lacks may simply wait in that agent's queue, and publishing
it again would make a backlog worse. It is overdue only when it can no longer be
waiting; until that is known, its window stays open for that agent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Protocol

from lambdas.shared.bus import Bus, Entry
from lambdas.shared.clock import Clock
from lambdas.shared.fleet import QUEUE_RETENTION_DAYS, Agent
from lambdas.shared.observe import count, logger
from lambdas.shared.table import Table
from lambdas.sweep.cursor import SETTLED, WINDOW, Cursor, Progress
from lambdas.sweep.overdue import AcceptedEvents, Reader

# A sweep that was down for a day (96 windows) catches up within two hours.
_WINDOWS_PER_SWEEP = 16

_PROBES_PER_SWEEP = 4

# A standard queue keeps only roughly to its order. An agent that has begun what was
# accepted a whole window later has had this message in its hands, or never will.
_DISORDER = timedelta(minutes=15)
_RETENTION = timedelta(days=QUEUE_RETENTION_DAYS)

# Entries are published in portions of this size, so that memory stays small.
_PORTION = 500


class Backlogs(Protocol):
    """Says how much waits in the agents' queues."""

    def waiting(self, agent: str) -> int:
        """Return how many messages the agent's queue holds, hidden ones included."""
        ...


@dataclass(kw_only=True)
class Tally:
    """What a sweep found. ``waiting`` events may still be in a queue."""

    windows: int = 0
    read: int = 0
    relayed: int = 0
    refused: int = 0
    unheard: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Tells what is overdue from what may be waiting.

    ``idle`` are the agents whose queues are empty; ``begun`` is when the latest
    event was accepted that an agent is known to have begun.
    """

    now: datetime
    idle: Collection[str]
    begun: Mapping[str, datetime]

    def is_overdue(self, agent: str, accepted: datetime) -> bool:
        """Whether an event of then, not begun, cannot wait in the queue any more.

        The queue is empty; or the agent has begun what came well after it; or
        the queue would have dropped it by now.
        """
        if agent in self.idle or self.now - accepted > _RETENTION:
            return True
        begun = self.begun.get(agent)
        return begun is not None and begun >= accepted + _DISORDER


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Relays again what neither reached an agent nor is known to be unheard."""

    agents: Collection[Agent]
    bus: Bus
    ledger: AcceptedEvents
    table: Table
    backlogs: Backlogs
    clock: Clock

    def run(self, token: str, *, has_time: Callable[[], bool]) -> Tally:
        """Read the windows that have settled since the last sweep, oldest first.

        ``token`` names this sweep. ``has_time`` is asked before each window. Of
        two sweeps at once, one does nothing.
        """
        writer = _Writer(self.bus, self.ledger)
        cursor = Cursor(self.table)
        progress = cursor.take(token, self.clock())
        if progress is None:
            logger.info("another sweep is at work")
            return writer.tally
        try:
            self._sweep(progress, writer, has_time, lambda p: cursor.advance(token, p))
        finally:
            cursor.let_go(token)
        logger.info("sweep done", **asdict(writer.tally))
        return writer.tally

    def relay(self, since: datetime, until: datetime, *, publish: bool = True) -> Tally:
        """Relay what was accepted in since <= t < until and has no run, at once.

        What ``bellhop relay`` does after a long outage: an operator's word stands
        in for the look at the queues. With ``publish=False`` it is only counted.
        """
        writer = _Writer(self.bus, self.ledger, is_dry=not publish)
        for seen in Reader(self.agents, self.ledger, self.table).read(since, until):
            writer.tally.read += 1
            if seen.is_unheard:
                writer.unheard(seen.entry)
            elif seen.lacking:
                writer.publish(seen.entry)
        writer.flush()
        return writer.tally

    def _sweep(
        self,
        progress: Progress,
        writer: _Writer,
        has_time: Callable[[], bool],
        advance: Callable[[Progress], bool],
    ) -> None:
        now = self.clock()
        # Asked before the ledger is read: a message that leaves its queue in
        # between has its run written by the time we look for it.
        names = {agent.name for agent in self.agents}
        idle = {name for name in names if not self.backlogs.waiting(name)}
        progress = progress.only(names)
        probed: set[datetime] = set()
        for _ in range(_WINDOWS_PER_SWEEP):
            judge = Judge(now=now, idle=idle, begun=progress.begun)
            window = _next_window(progress, judge) or _next_probe(progress, probed)
            if window is None or not has_time():
                return
            progress = self._read(window, progress, judge, writer)
            if not advance(progress):
                return

    def _read(
        self, window: datetime, progress: Progress, judge: Judge, writer: _Writer
    ) -> Progress:
        """Read one window, relay what is overdue, keep open what may be waiting."""
        is_new = window >= progress.until
        waiting: set[str] = set()
        for seen in Reader(self.agents, self.ledger, self.table).read(
            window, window + WINDOW
        ):
            writer.tally.read += 1
            if seen.is_unheard:
                writer.unheard(seen.entry)
            for agent in seen.begun:
                progress = progress.saw_begun(agent, seen.accepted)
            # Each window once: an agent whose part of it is closed is passed over.
            lacking = {
                agent
                for agent in seen.lacking
                if is_new or window in progress.undecided.get(agent, ())
            }
            overdue = {a for a in lacking if judge.is_overdue(a, seen.accepted)}
            waiting |= lacking - overdue
            writer.tally.waiting += lacking != overdue
            if overdue:
                writer.publish(seen.entry)
        writer.flush()
        writer.tally.windows += 1
        return progress.read(window, waiting)


def _next_window(progress: Progress, judge: Judge) -> datetime | None:
    """Return the oldest window to read: kept open and decided now, or settled."""
    decided = [
        window
        for agent, windows in progress.undecided.items()
        for window in windows
        if judge.is_overdue(agent, window + WINDOW)
    ]
    if decided:
        return min(decided)
    is_settled = progress.until + WINDOW <= judge.now - SETTLED
    return progress.until if is_settled else None


def _next_probe(progress: Progress, probed: set[datetime]) -> datetime | None:
    """Return a window whose events would show that the oldest open one is overdue.

    It was read when few of its events had begun: in a backlog that never ends,
    nothing else would tell that the agent has come so far by now.
    """
    if len(probed) == _PROBES_PER_SWEEP:
        return None
    for windows in progress.undecided.values():
        window = min(windows) + WINDOW + _DISORDER
        while window in probed:
            window += WINDOW
        if window < progress.until:
            probed.add(window)
            return window
    return None


class _Writer:
    """Publishes overdue events, writes down unheard ones, and counts both."""

    def __init__(
        self, bus: Bus, ledger: AcceptedEvents, *, is_dry: bool = False
    ) -> None:
        self.tally = Tally()
        self._bus = bus
        self._ledger = ledger
        self._is_dry = is_dry
        self._entries: list[Entry] = []

    def publish(self, entry: Entry) -> None:
        if self._is_dry:
            self.tally.relayed += 1
            return
        self._entries.append(entry)
        if len(self._entries) >= _PORTION:
            self.flush()

    def flush(self) -> None:
        entries, self._entries = self._entries, []
        if not entries:
            return
        refusals = self._bus.publish(entries)
        for refusal in refusals:
            logger.error(
                "event cannot be relayed",
                event_id=refusal.event_id,
                reason=refusal.reason,
            )
        logger.info(
            "events relayed again", event_ids=[entry.event_id for entry in entries]
        )
        self.tally.refused += len(refusals)
        self.tally.relayed += len(entries) - len(refusals)

    def unheard(self, entry: Entry) -> None:
        self.tally.unheard += 1
        if not self._is_dry:
            self._ledger.unheard(entry.event_id, entry.detail["expires_at"])
            logger.info("event unheard", event_id=entry.event_id)
            count("EventsUnheard")
