"""Being asked to stop: once in peace, twice at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from lambdas.worker.polling.hold import Ticking, ticking

_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


class Stopping:
    """Whether, and since when, this worker is asked to stop. Safe in threads."""

    def __init__(self, ticking: Ticking = ticking) -> None:
        """Nobody asks yet."""
        self._ticking = ticking
        self._asked = threading.Event()
        self._told: list[Callable[[], None]] = []
        self.since: float | None = None
        self.is_urgent = False

    @property
    def is_asked(self) -> bool:
        """Whether no new work may be taken."""
        return self._asked.is_set()

    def tell(self, told: Callable[[], None]) -> None:
        """Call ``told`` at every request from here on, from any thread."""
        self._told.append(told)

    def ask(self) -> None:
        """Stop; the second time at once."""
        if self._asked.is_set():
            self.is_urgent = True
        else:
            self.since = self._ticking()
            self._asked.set()
        for told in self._told:
            told()

    def wait(self, seconds: float) -> bool:
        """Return when asked, or after so long; whether it was asked."""
        return self._asked.wait(seconds)


def block() -> None:
    """Let no thread of this process be interrupted; call it before the first starts.

    A handler would run between any two instructions of the main thread, locks held.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)


def listen(stopping: Stopping) -> None:
    """Turn signals into requests, in a thread of their own, for ever."""

    def forever() -> None:
        while True:
            signal.sigwait(_SIGNALS)
            stopping.ask()

    threading.Thread(target=forever, name="signals", daemon=True).start()


def leave(code: int) -> None:
    """End this process now, whatever its other threads are doing."""
    os._exit(code)
