"""Rings a bell for every task, with its deadline."""

from agents import Event, Run
from agents.effects import http

BELL = "https://bell.example/rings"


def run(event: Event, run: Run) -> None:
    """Ring once."""
    told = {"event": event.id, "deadline": event.payload["deadline"]}
    run.effect("ring", http.post, BELL, told, repeatable=True)
