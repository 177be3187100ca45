"""Weighs what was delivered: how many bytes, which ones, and what they decode to."""

import hashlib

from agents import Event, Run
from agents.effects import http

SCALE = "https://scale.example/weights"


def run(event: Event, run: Run) -> None:
    """Tell the scale, once."""
    weight = {
        "event": event.id,
        "bytes": len(event.body),
        "sha256": hashlib.sha256(event.body).hexdigest(),
        "decoded": type(event.payload).__name__,
    }
    run.effect("weigh", http.post, SCALE, weight, repeatable=True)
