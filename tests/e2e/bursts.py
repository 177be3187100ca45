"""Sends copies of one delivery at one barrier and measures how they overlapped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cli.signers import Delivery
from cli.wire import Answer, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One answered copy, with the monotonic times between which it was in flight."""

    answer: Answer
    began: float
    ended: float


def burst(senders: Wire, delivery: Delivery, copies: int) -> list[Sent]:
    """Send all copies when every thread has reached the barrier."""
    start = threading.Barrier(copies)

    def send(_: int) -> Sent:
        start.wait()
        began = time.monotonic()
        answer = senders.post(delivery)
        return Sent(answer=answer, began=began, ended=time.monotonic())

    with ThreadPoolExecutor(copies) as pool:
        return list(pool.map(send, range(copies)))


def warm_up(senders: Wire, fresh: Callable[[], Delivery], copies: int) -> None:
    """Let the engine start a process for each of so many copies, a few at a time.

    It starts them all at once otherwise, and on two cores the last of fifty
    cold starts ends after a client has given up.
    """
    for step in [*range(8, copies, 8), copies]:
        sent = burst(senders, fresh(), step)
        assert {each.answer.status for each in sent} == {200}


def most_in_flight(sent: list[Sent]) -> int:
    """Return how many copies were on their way at the same moment, at most."""
    return max(
        sum(other.began <= each.began < other.ended for other in sent) for each in sent
    )
