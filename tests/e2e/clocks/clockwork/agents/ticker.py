"""Rings a bell for every tick."""

from agents import Event, Run
from agents.effects import http

BELL = "https://bell.example/rings"


def run(event: Event, run: Run) -> None:
    """Ring once."""
    run.effect("ring", http.post, BELL, {"event": event.id}, repeatable=True)
