"""Gathers what the month-end close needs, two days before it is due, and says so."""

from __future__ import annotations

import os

from agents import Event, Run
from agents.effects import http, slack


def run(event: Event, run: Run) -> None:
    """Ask OPEN_ITEMS_URL to list what is open, then tell CLOSE_CHANNEL, once each.

    The calendar may have moved the close since this work began: the last word is
    what the message says. (The entry's title is a stranger's text: not repeated.)
    """
    task = event.payload
    month = task["deadline"][:7]
    order = {"month": month}
    run.effect("gather", http.post, os.environ["OPEN_ITEMS_URL"], order)
    news = run.told() or {}
    if news.get("cancelled"):
        run.log.info("close was cancelled", month=month)
        return
    due = news.get("deadline", task["deadline"])
    text = f"The close of {month} is due at {due}: what is open is being gathered."
    run.effect("tell", slack.post, os.environ["CLOSE_CHANNEL"], text)
    run.log.info("close begun", month=month, due=due)
