"""The hold on one received message: for how long it is hidden, and leased. Pure.

Time is counted in ticks (seconds of a clock that nobody sets, see ``ticking``): what
the queue is asked for is a length of time, and so is what is left of it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from lambdas.shared.fleet import LONGEST_HIDDEN_SECONDS

Ticking = Callable[[], float]

# SQS hides a message for 12 hours at most, counted from its receive; what would go
# beyond is refused whole.
_LONGEST_SECONDS = 12 * 3600 - 60

# What a lease ends before its message shows; short visibilities keep half of it.
LEASE_MARGIN_SECONDS = 5.0


def ticking() -> float:
    """Return seconds since the machine started, those asleep included.

    The same in every process of the machine, and never set: ``time.monotonic``
    stands still on Linux while a machine is suspended, and the queue does not.
    """
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


class Hold:
    """How long the queue surely hides a message, and may hide it at most.

    An extension is counted from when it was asked for (it surely lasts that long)
    and from when it was answered (it lasts at most that long). Neither ever becomes
    less: an extension to less than what may remain is not asked for, nor anything
    beyond ``limit``. Safe in threads.
    """

    def __init__(self, *, asked: float, answered: float, visibility_seconds: int):
        """A message that was asked for at one tick and had come at the other."""
        self._lock = threading.Lock()
        self._visibility = visibility_seconds
        self._surely_until = asked + visibility_seconds
        self._at_most_until = answered + visibility_seconds
        self.limit = asked + _LONGEST_SECONDS
        #: When the run is asked to hand over to another message.
        self.hand_over = asked + LONGEST_HIDDEN_SECONDS
        self.margin = min(LEASE_MARGIN_SECONDS, visibility_seconds / 2)

    @property
    def surely_until(self) -> float:
        """Until when nobody else can have received it."""
        with self._lock:
            return self._surely_until

    @property
    def leased_until(self) -> float:
        """When the lease must be over: before the message may show again."""
        return self.surely_until - self.margin

    def wanted(self, now: float) -> int | None:
        """Return for how many seconds to hide it from ``now`` on; None: not at all.

        None where that would shorten what remains, and once the hold was lost:
        the message may be somebody else's by then.
        """
        with self._lock:
            seconds = min(self._visibility, math.floor(self.limit - now))
            if now >= self._surely_until or now + seconds < self._at_most_until:
                return None
            return seconds

    def asked(self, asked: float, answered: float, seconds: int, *, done: bool) -> None:
        """Note an extension; one that failed may have been done all the same."""
        with self._lock:
            self._at_most_until = max(self._at_most_until, answered + seconds)
            if done:
                self._surely_until = max(self._surely_until, asked + seconds)
