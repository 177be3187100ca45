"""Keeps the task while it works: ECS takes others away first.

Set in a thread of its own, because ECS may take seconds to answer: neither a run nor
a heartbeat waits for it. What fails is logged; SIGTERM is handled all the same.
"""

from __future__ import annotations

import threading
from typing import Protocol

from lambdas.shared.errors import BellhopError
from lambdas.worker.polling import telling
from lambdas.worker.polling.hold import Ticking

# Renewed well before it ends; a worker that hangs is unprotected within the hour.
PROTECTED_MINUTES = 60
_RENEWED_SECONDS = 20 * 60
_AGAIN_SECONDS = 10


class Protection(Protocol):
    """The task's protection."""

    def set(self, minutes: int | None) -> None:
        """Protect it for so long; None: not any more. Raises Unavailable."""
        ...


class Protected:
    """Asks for protection while it is wanted, and again before it ends."""

    def __init__(self, protection: Protection, agent: str, ticking: Ticking) -> None:
        """Begin unprotected; nothing is asked for before the first wish."""
        self._protection = protection
        self._agent = agent
        self._ticking = ticking
        self._wish = threading.Condition()
        self._wanted = self._is_set = False
        self._again = float("inf")

    def start(self) -> None:
        """Keep to the wish, for ever."""

        def forever() -> None:
            while True:
                self.await_turn()
                self.turn()

        threading.Thread(target=forever, name="protection", daemon=True).start()

    def want(self, wanted: bool) -> None:
        """Be protected, or not; at once if that is another wish than the last."""
        with self._wish:
            if wanted != self._wanted:
                self._wanted, self._again = wanted, self._ticking()
                self._wish.notify()

    @property
    def due(self) -> float:
        """When to ask next, in ticks."""
        with self._wish:
            return self._again

    def await_turn(self) -> None:
        """Return when there is something to ask for."""
        with self._wish:
            while (left := self._again - self._ticking()) > 0:
                self._wish.wait(None if left == float("inf") else left)

    def turn(self) -> None:
        """Ask for what is wanted, and note when to ask again."""
        with self._wish:
            wanted, self._again = self._wanted, float("inf")
        try:
            self._protection.set(PROTECTED_MINUTES if wanted else None)
        except BellhopError as error:
            telling.not_protected(self._agent, error)
            pause: float = _AGAIN_SECONDS
        else:
            pause = _RENEWED_SECONDS if wanted else float("inf")
        with self._wish:
            self._again = min(self._again, self._ticking() + pause)
