"""What a supervisor lives by: a queue, a child, and what happens to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from lambdas.worker.delivery import Visibility
from lambdas.worker.polling.hold import Hold
from lambdas.worker.polling.process import ChildProcess, Gone, Said


class Inbox(Visibility, Protocol):
    """The agent's queue. Every call raises Unavailable or Misconfigured."""

    def receive(
        self, *, wait_seconds: int, visibility_seconds: int
    ) -> dict[str, Any] | None:
        """Return one message as Lambda's record of it, hidden from now on, or None."""
        ...

    def delete(self, receipt: str) -> None:
        """Delete what was received so."""
        ...


class Asked:
    """Somebody asked to stop, once more."""


class Lost:
    """The heartbeat of a message found its lease over."""

    def __init__(self, hold: Hold) -> None:
        """Be about the message of ``hold``."""
        self.hold = hold


Happening = Said | Gone | Asked | Lost


class Happenings(Protocol):
    """What happens, in its order, from any thread; ``queue.SimpleQueue`` is one."""

    def put(self, item: Happening) -> None:
        """Add it."""
        ...

    def get(self, *, timeout: float) -> Happening:
        """Return the first; raises queue.Empty when nothing has happened in time."""
        ...


Start = Callable[[Callable[[Happening], None]], ChildProcess]
