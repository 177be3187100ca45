"""Works for longer than its function may, a round at a time."""

import os
import time

from agents import Event, Run
from agents.effects import http

_ROUND_SECONDS = 0.5


def run(event: Event, run: Run) -> None:
    """Make all rounds, and say which attempt made each."""
    rounds = round(float(os.environ["SECONDS"]) / _ROUND_SECONDS)
    made = run.resumed_from or []
    while len(made) < rounds and run.keep_going():
        run.step(f"round-{len(made)}", time.sleep, _ROUND_SECONDS)
        made.append(run.attempt)
        run.checkpoint(made)
    told = {"order": event.payload["data"]["order"], "made": made}
    run.effect(
        "arrive", http.post, f"{os.environ['OUTSIDE']}/arrive", told, repeatable=True
    )
