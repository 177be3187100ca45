"""Calls out every order at the counter."""

from agents import Event, Run
from agents.effects import http

COUNTER = "https://counter.example/calls"


def run(event: Event, run: Run) -> None:
    """Call the order out, once: the counter knows an order by its operation id."""
    call = {"event": event.id, "kind": event.kind}
    run.effect("call", http.post, COUNTER, call, repeatable=True)
