"""How long another service asks to be left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from lambdas.shared import clock
from lambdas.shared.errors import LONGEST_WAIT


def retry_after(text: str | None) -> timedelta | None:
    """Read ``Retry-After``: seconds or an HTTP date (RFC 9110 10.2.3).

    What is neither is ignored; what is longer than a message can wait is cut.
    """
    if not text:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        # Nine digits are 31 years: cut before timedelta overflows.
        return min(timedelta(seconds=int(text[:9])), LONGEST_WAIT)
    try:
        instant = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return until(instant)


def until(instant: datetime) -> timedelta:
    """Return how long to wait for ``instant``, within what a message can wait."""
    return min(max(instant - clock.now(), timedelta(0)), LONGEST_WAIT)
