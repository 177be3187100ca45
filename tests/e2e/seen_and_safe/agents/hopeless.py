"""Gives up at once."""

from agents import Event, GiveUp, Run


def run(event: Event, run: Run) -> None:
    """Give up."""
    raise GiveUp("this never works")
