"""The smallest agent: tells another service of every event, once."""

import os

from agents import Event, Run
from agents.effects import http


def run(event: Event, run: Run) -> None:
    """Greet HELLO_URL, which drops a second greeting under the same key."""
    url = os.environ.get("HELLO_URL", "https://example.com/hello")
    greeting = {"hello": event.source, "kind": event.kind, "event_id": event.id}
    run.effect("hello", http.post, url, greeting, repeatable=True)
