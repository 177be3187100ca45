"""Goes through the competitors every working day and asks a service to look at each."""

from __future__ import annotations

import os

from agents import Event, Run
from agents.effects import http


def run(event: Event, run: Run) -> None:
    """Ask LOOK_URL for one competitor; the schedule makes an event of each."""
    url = os.environ.get("LOOK_URL", "https://example.com/look")
    order = {"competitor": event.payload["item"], "day": event.payload["planned"][:10]}
    run.effect("look", http.post, url, order, repeatable=True)
    run.log.info("competitor looked at", competitor=event.payload["item"])
