"""Hands its run over to the next attempt, once."""

import time
from datetime import UTC, datetime

from agents import Event, Run


def run(event: Event, run: Run) -> None:
    """Work until another such round would not fit."""
    while run.resumed_from is None and run.keep_going():
        left = run.deadline - datetime.now(UTC)
        time.sleep(left.total_seconds() / 2.4)
        run.checkpoint("done")
