"""Rings each order up once; does what the order's title says on the way."""

import os
import signal
import time

from agents import Event, GiveUp, Run
from agents.effects import http

TILL = "https://till.example/ring"


def run(event: Event, run: Run) -> None:
    """Ring up ``event``; hang, die or refuse where its title asks for it."""
    title = event.payload["issue"]["title"]
    if title == "hang":
        time.sleep(60)
    if title == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if title == "refuse":
        raise GiveUp("the till does not take this order", downstream="till.example")
    # The till knows an order by its operation id.
    run.effect("ring", http.post, TILL, {"event": event.id}, repeatable=True)
