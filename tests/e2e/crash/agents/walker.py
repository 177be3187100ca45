"""Makes every kind of call that handing over makes, always in the same order."""

import hashlib
import os
import time
from datetime import UTC, datetime

from agents import Event, Run
from agents.effects import http

# More than a row keeps: the state goes to S3.
_PAGES = 1_000


def run(event: Event, run: Run) -> None:
    """Cook, be told to stop, and serve in another attempt."""
    told = {"event": event.id, "order": event.payload["data"]["order"]}
    outside = os.environ["OUTSIDE"]
    state = run.resumed_from or {"course": 0}
    # It is told to stop after the second course: the third is of another attempt.
    while run.keep_going():
        if state["course"] == 0:
            run.effect("cook", http.post, f"{outside}/cook", told, repeatable=True)
            state = {"course": 1}
        elif state["course"] == 1:
            time.sleep(_too_long(run))
            state = {"course": 2, "recipe": recipe(told["order"])}
        else:
            break
        run.checkpoint(state)
    run.effect("serve", http.post, f"{outside}/serve", told, repeatable=True)


def _too_long(run: Run) -> float:
    """Return for how long to sleep, so that no other such round fits."""
    left = run.deadline - datetime.now(UTC)
    return max(0.0, left.total_seconds() / 2.4)


def recipe(order: str) -> str:
    """Return a long text."""
    pages = (f"{order}{n}".encode() for n in range(_PAGES))
    return "".join(hashlib.sha256(page).hexdigest() for page in pages)
