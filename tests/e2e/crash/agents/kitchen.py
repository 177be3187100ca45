"""Makes every kind of call that a run can make, in an order that is always the same."""

import hashlib
import os

from agents import Event, GiveUp, RetryLater, Run
from agents.effects import http

# More than a row keeps: the result goes to S3.
_PAGES = 5_000


def run(event: Event, run: Run) -> None:
    """Plan, cook, remember the recipe, fail or not, serve."""
    plan, outside = os.environ["PLAN"], os.environ["OUTSIDE"]
    knows_keys = os.environ["KNOWS_KEYS"] == "yes"
    told = {"event": event.id, "order": event.payload["data"]["order"]}
    run.step("plan", len, event.body)
    run.effect("cook", http.post, f"{outside}/cook", told, repeatable=knows_keys)
    run.step("recipe", recipe, told["order"])
    if plan == "fails once" and run.attempt == 1:
        raise RetryLater("the oven is cold", after=1)
    run.effect("serve", http.post, f"{outside}/serve", told, repeatable=knows_keys)
    if plan == "gives up":
        raise GiveUp("the guest has left")


def recipe(order: str) -> str:
    """Return a long text."""
    pages = (f"{order}{n}".encode() for n in range(_PAGES))
    return "".join(hashlib.sha256(page).hexdigest() for page in pages)
