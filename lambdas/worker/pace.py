"""Whether a loop has time for another round, and to hand over after it."""

from __future__ import annotations

import threading
from collections.abc import Callable

# What is left for a checkpoint, the run's row and the message that continues it: a
# tenth of the attempt, and of a long one so many seconds.
_MOST_RESERVE_MS = 10_000
# The next round may take longer than the longest so far.
_LONGER = 1.5


class Pace:
    """How long the rounds of one attempt take; asked once a round, from any thread."""

    def __init__(
        self, left_ms: Callable[[], int], ticking: Callable[[], float]
    ) -> None:
        """``left_ms`` is what the attempt has left; ``ticking`` counts seconds.

        Rounds are counted by ``ticking``, so that a clock that is set makes none.
        """
        self._left_ms = left_ms
        self._ticking = ticking
        self._reserve_ms = min(_MOST_RESERVE_MS, left_ms() // 10)
        self._lock = threading.Lock()
        self._last: float | None = None
        self._longest = 0.0

    def has_time(self) -> bool:
        """Say whether another round ends in time, if it is like those before."""
        with self._lock:
            now = self._ticking()
            if self._last is not None:
                self._longest = max(self._longest, now - self._last)
            self._last = now
            wanted_ms = self._reserve_ms + _LONGER * 1000 * self._longest
        return self._left_ms() > wanted_ms
