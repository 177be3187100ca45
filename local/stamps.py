"""Lets SQS stamp messages by the clock file, where that runs ahead.

A run that is dead is told from its redrive by the queue's own stamp: the message
was sent after the run had ended. Where the functions live in a day to come, no real
stamp is later, and what a person sends round again would be taken for a duplicate.
Runs in the engine's process, as ``launch.py`` does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]

# Of a clock that stands still: so far apart are two messages. SQS counts in
# milliseconds, and a stamp passes through a float.
_STEP_SECONDS = 0.01


class Stamps:
    """Stamps each message once, when a function's queue hands it out."""

    def __init__(self, now: Callable[[], float]) -> None:
        """``now`` is the functions' time, in epoch seconds."""
        self._now = now
        self._last = 0.0
        self._equal = 0

    def stamp(self, message: Message) -> None:
        """Let ``message`` be sent and received now, if now is yet to come."""
        now = self._now()
        if message.get("stamped") or now < time.time() + 1:
            return
        self._equal = self._equal + 1 if now == self._last else 0
        self._last = now
        at = now + self._equal * _STEP_SECONDS
        message["stamped"] = True
        message["sent_at"] = message["first_receive_at"] = at
        message.setdefault("sys", {})["SentTimestamp"] = str(int(at * 1000))


def stamp_by_the_clock(sqs: Any, now: Callable[[], float]) -> None:
    """Let the engine stamp what its queues hand to functions."""
    stamps, receive = Stamps(now), sqs._receive_messages_for_esm

    def received(queue_url: str, most: int) -> list[Message]:
        messages: list[Message] = receive(queue_url, most)
        for message in messages:
            stamps.stamp(message)
        return messages

    sqs._receive_messages_for_esm = received
