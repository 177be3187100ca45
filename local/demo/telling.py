"""Tells a story in plain words and keeps account of what did not hold."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from local.stack import LocalStack, wait_for


class Telling:
    """One telling of the story; ``failures`` are the sentences that proved false."""

    def __init__(self) -> None:
        """Begin with nothing told."""
        self.failures: list[str] = []
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Say what happens next."""
        print(f"[{time.monotonic() - self._began:5.1f} s] {text}", flush=True)

    def title(self, text: str) -> None:
        """Begin a scene."""
        print(flush=True)
        self.say(text)

    def check(self, sentence: str, holds: object) -> bool:
        """Say ``sentence`` with its verdict; a false one is kept."""
        print(f"          {'ok ' if holds else 'NOT'}  {sentence}", flush=True)
        if not holds:
            self.failures.append(sentence)
        return bool(holds)

    def check_soon(self, sentence: str, condition: Callable[[], Any]) -> bool:
        """Check what becomes true within three minutes, and stays so for a moment."""
        wait_for(condition)
        return self.check(sentence, condition())


def state(stack: LocalStack, event_id: str, agent: str) -> str:
    """Return the state of an agent's run of an event, or where it waits."""
    row = stack.rows(event_id).get(f"run#{agent}")
    return str(row["state"]) if row else "QUEUED"


def is_done(stack: LocalStack, event_id: str, agent: str) -> bool:
    """Tell whether an agent finished an event."""
    return state(stack, event_id, agent) == "SUCCEEDED"
