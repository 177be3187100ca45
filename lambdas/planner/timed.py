"""Ends what takes too long in this process: a library's loop, a slow expression."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Bound a block by ``seconds`` of real time.

    Only a main thread can: in another one, nothing is bounded. Not to be nested: the
    inner bound would end the outer one.

    Raises:
        TimeoutError: it takes longer; again each half second, should what is at
            work have caught it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    is_over = False

    def late(*_: object) -> None:
        if is_over:
            return
        raise TimeoutError(f"it takes longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        # An alarm that comes in between must not leave the next one standing.
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
