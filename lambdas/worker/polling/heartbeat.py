"""The heartbeat: extends visibility and lease of the message that is worked on.

The visibility first, then the lease, so that the lease always ends before the message
shows. A beat that fails is repeated sooner; once the lease is over, all is lost.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Protocol

from lambdas.shared.clock import Clock, milliseconds
from lambdas.shared.errors import BellhopError
from lambdas.shared.table import Table
from lambdas.worker.delivery import Visibility
from lambdas.worker.holding import Holding, renew
from lambdas.worker.polling.hold import Hold, Ticking

# A failed beat is repeated after this part of the period.
_SOONER = 4
_MOMENT_SECONDS = 0.5


class Listener(Protocol):
    """Who hears of the heartbeat, from its thread."""

    def renewed(self, holding: Holding, ends_ms: int, until: float) -> None:
        """The lease in the ledger ends then: by its clock, and by ticks."""
        ...

    def lost(self) -> None:
        """The run may be somebody else's; told once."""
        ...

    def beaten(self, error: BellhopError | None) -> None:
        """A beat was made; or it failed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a heartbeat needs of the world."""

    queue: Visibility
    table: Table
    clock: Clock
    ticking: Ticking


class Heartbeat:
    """Beats for one message, in a thread of its own, until it is finished or lost."""

    def __init__(
        self,
        receipt: str,
        hold: Hold,
        world: World,
        told: Listener,
        *,
        period_seconds: float,
    ) -> None:
        """Beat for the message that was received with ``receipt``."""
        self._receipt = receipt
        self._hold = hold
        self._world = world
        self._told = told
        self._period = period_seconds
        self._holding: Holding | None = None
        self._lease_ends = float("inf")
        # The claim's lease, by the ledger's clock and by ticks: the same instant.
        self._anchor = 0, 0.0
        self._beating = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)

    @property
    def is_held(self) -> bool:
        """Whether the message is surely hidden from everybody else."""
        return self._world.ticking() < self._hold.surely_until

    def start(self) -> None:
        """Begin to beat, one period from now."""
        self._thread.start()

    def claimed(self, holding: Holding, lease_ends_ms: int) -> None:
        """Renew this claim's lease too; it ends then unless renewed."""
        now_ms = milliseconds(self._world.clock())
        ends = self._world.ticking() + (lease_ends_ms - now_ms) / 1000
        with self._beating:
            self._holding, self._anchor = holding, (lease_ends_ms, ends)
            # Never later than the message may show, whatever the clocks made of it.
            self._lease_ends = min(ends, self._hold.leased_until)

    def finish(self) -> None:
        """Beat no more; returns when the last beat is over. Twice is once."""
        self._over.set()
        with self._beating:
            pass

    def beat(self) -> bool:
        """Extend once; ``False`` when it failed and is worth repeating soon."""
        with self._beating:
            if self._over.is_set():
                return True
            now = self._world.ticking()
            if now >= min(self._lease_ends, self._hold.surely_until):
                return self._lose()
            try:
                self._extend()
                is_mine = self._renew()
            except BellhopError as error:
                self._told.beaten(error)
                return False
            if not is_mine:
                return self._lose()
            self._told.beaten(None)
            return True

    def _lose(self) -> bool:
        self._over.set()
        self._told.lost()
        return True

    def _extend(self) -> None:
        asked = self._world.ticking()
        seconds = self._hold.wanted(asked)
        if seconds is None:
            return
        done = False
        try:
            self._world.queue.hide(self._receipt, seconds)
            done = True
        finally:
            answered = self._world.ticking()
            self._hold.asked(asked, answered, seconds, done=done)

    def _renew(self) -> bool:
        if self._holding is None:
            return True
        until = self._hold.leased_until
        ends_ms = self._ends_ms(until)
        if not renew(self._world.table, self._holding, ends_ms):
            return False
        self._lease_ends = max(self._lease_ends, until)
        self._told.renewed(self._holding, ends_ms, until)
        return True

    def _ends_ms(self, until: float) -> int:
        """Return when the lease ends that lasts ``until``, by the ledger's clock.

        Counted on from the claim, and by the clock as it is: one that is set back
        must not leave the ledger with a lease that others find over.
        """
        now, now_ms = self._world.ticking(), milliseconds(self._world.clock())
        claimed_ms, claimed = self._anchor
        counted = claimed_ms + math.floor((until - claimed) * 1000)
        return max(counted, now_ms + math.floor((until - now) * 1000))

    def _run(self) -> None:
        pause = self._period
        while not self._over.wait(self._pause(pause)):
            pause = self._period if self.beat() else self._period / _SOONER

    def _pause(self, wished: float) -> float:
        """Return how long to wait: half of what is left at most, or all of a moment."""
        with self._beating:
            ends = min(self._lease_ends, self._hold.surely_until)
        left = max(0.0, ends - self._world.ticking())
        return left if left < _MOMENT_SECONDS else min(wished, left / 2)
