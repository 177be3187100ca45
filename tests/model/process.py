"""A worker's process that stands still before every call it makes of the world.

It is a thread that runs only while its driver waits for it, so a case is the
same every time it is played. Where it stands it can be let go, killed, or given
a call that fails.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from lambdas.shared.errors import Unavailable
from tests.model.rules import Work


class Call(StrEnum):
    """What becomes of the call that a process stands before."""

    MADE = "made"
    #: The process dies before the call; SIGKILL, a power cut.
    CRASH = "crash"
    #: The call fails and nothing was done.
    FAIL = "fail"
    #: The call is done, and its answer is lost.
    LOSE = "lose"
    #: The answer is lost and the client makes the call again, as boto does.
    TWICE = "twice"
    #: Agents' own calls: it is told that no later one can succeed.
    GIVE_UP = "giveup"


class Died(BaseException):
    """The process is no more; whatever its code does now reaches nobody."""


_here = threading.local()


def working() -> Work:
    """Return what the process does whose code is running."""
    process: Process = _here.process
    return process.work


def call(
    name: str,
    made: Callable[[], Any],
    raised: Mapping[Call, Exception] = MappingProxyType({}),
) -> Any:
    """Make a call of the world; a process stands before it, an operator does not."""
    process: Process | None = getattr(_here, "process", None)
    return made() if process is None else process.call(name, made, raised)


class Process:
    """One invocation; ``standing`` is the call it stands before, "" when it is over."""

    def __init__(self, work: Work, main: Callable[[], None]) -> None:
        self.work = work
        self.standing = "start"
        self.is_dead = False
        self.error: BaseException | None = None
        self._main = main
        self._steps = 0
        self._next = Call.MADE
        self._go = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return not self.standing

    def go(self, steps: int, call: Call = Call.MADE) -> None:
        """Make ``steps`` calls, the first of them so; returns when it stands again."""
        if self.is_over:
            return
        self._steps, self._next = steps, call
        self._go.release()
        self._stopped.acquire()
        if self.error is not None:
            raise self.error

    def call(
        self, name: str, made: Callable[[], Any], raised: Mapping[Call, Exception]
    ) -> Any:
        """Stand before a call of the world, then do with it as told.

        ``raised`` says what a failed call raises, where that is not Unavailable.
        """
        if self.is_dead:
            raise Died
        if self._steps <= 0:
            self.standing = name
            self._stopped.release()
            self._go.acquire()
        self._steps -= 1
        call, self._next = self._next, Call.MADE
        match call:
            case Call.CRASH:
                self.is_dead = True
                raise Died
            case Call.FAIL | Call.GIVE_UP:
                raise raised.get(call, Unavailable(f"{name}: not reached"))
            case Call.LOSE:
                made()
                raise raised.get(call, Unavailable(f"{name}: the answer was lost"))
            case Call.TWICE if not raised:
                made()
            case _:
                pass
        return made()

    def _run(self) -> None:
        _here.process = self
        self._go.acquire()
        try:
            self._main()
        except Died:
            pass
        except BaseException as error:
            # The driver's to raise: here nobody would hear it.
            self.error = error
        self.standing = ""
        self._stopped.release()
