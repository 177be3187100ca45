"""Raises with all that it knows, as careless code does."""

from agents import Event, Run


def run(event: Event, run: Run) -> None:
    """Fail with the payload and the token in the words of the error."""
    token = run.secret("bellhop/careless")
    run.log.info("about to fail")
    cause = ValueError(str(event.payload), token)
    raise RuntimeError(f"cannot send {event.payload} with {token}") from cause
