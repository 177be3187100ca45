"""For how long a claim holds: told by the ledger's clock, and by no clock at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Lease:
    """Until when its holder may work; only ever longer, and lost for good.

    Safe to use from several threads: one works, another renews. The end is an
    instant, as the ledger keeps it. A clock that is set back while a run goes on
    would make the lease longer than everybody else takes it to be; so the time
    that passes is counted too, and whichever ends first ends the lease.
    """

    def __init__(
        self, ends_ms: int, now_ms: int, ticking: Callable[[], float] = time.monotonic
    ) -> None:
        """Hold until ``ends_ms`` (epoch milliseconds); ``ticking`` counts seconds."""
        self._lock = threading.Lock()
        self._ticking = ticking
        self._ends_ms = ends_ms
        self._ends_tick = self._tick_of(ends_ms, now_ms)
        self._is_lost = False

    @property
    def ends_ms(self) -> int:
        """When it ends, unless it is lost or extended before: epoch milliseconds."""
        with self._lock:
            return self._ends_ms

    @property
    def is_lost(self) -> bool:
        """Whether somebody found that the claim is another's by now."""
        with self._lock:
            return self._is_lost

    def lasts(self, now_ms: int) -> bool:
        """Say whether its holder may go on at ``now_ms``."""
        with self._lock:
            if self._is_lost or now_ms >= self._ends_ms:
                return False
            return self._ticking() < self._ends_tick

    def extend(self, ends_ms: int, now_ms: int) -> None:
        """Hold until ``ends_ms``; never shortens it, and brings no lost one back."""
        with self._lock:
            if ends_ms > self._ends_ms:
                self._ends_ms = ends_ms
                self._ends_tick = self._tick_of(ends_ms, now_ms)

    def lose(self) -> None:
        """End it now: whatever its holder does is refused from here on."""
        with self._lock:
            self._is_lost = True

    def _tick_of(self, ends_ms: int, now_ms: int) -> float:
        return self._ticking() + (ends_ms - now_ms) / 1000
