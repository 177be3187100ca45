"""Books failed charges, in the currencies it was told of."""

import os

from agents import Event, Run
from agents.effects import http

BOOKS = "https://books.example/entries"


def run(event: Event, run: Run) -> None:
    """Book the charge; one in an unknown currency cannot be booked."""
    charge = event.payload["data"]["object"]
    if charge["currency"] not in os.environ["CURRENCIES"].split():
        raise LookupError(f"no account in the currency {charge['currency']!r}")
    entry = {"charge": charge["id"], "amount": charge["amount"]}
    run.effect("book", http.post, BOOKS, entry, repeatable=True)
