"""Is never done: every attempt is put off."""

from datetime import timedelta

from agents import Event, RetryLater, Run


def run(event: Event, run: Run) -> None:
    """Put it off for hours."""
    raise RetryLater("not yet", after=timedelta(hours=9))
