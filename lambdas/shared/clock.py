"""The one source of time, so that tests and the local stack can move it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

# Set on the local stack only; a template test asserts that AWS never sees it.
CLOCK_FILE_VARIABLE = "BELLHOP_CLOCK_FILE"


class Clock(Protocol):
    """Tells the time. ``clock.now`` of this module fulfils it."""

    def __call__(self) -> datetime:
        """Return the present instant, timezone-aware, in UTC."""
        ...


class UnreadableClockError(Exception):
    """Raised when the clock file holds something that is not a time."""


def now() -> datetime:
    """Return the present instant, timezone-aware, in UTC.

    Where ``BELLHOP_CLOCK_FILE`` names a file that holds something, the file
    is the clock: an instant (RFC 3339, or epoch seconds) stands still, an
    offset (``+90`` or ``-90``, in seconds) runs beside the real time. It is
    read at every call, so that one file moves every process at once.

    Raises:
        UnreadableClockError: the file holds neither.
    """
    path = os.environ.get(CLOCK_FILE_VARIABLE)
    if not path:
        return datetime.now(UTC)
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        text = ""
    return parse(text) if text else datetime.now(UTC)


def parse(text: str) -> datetime:
    """Read what a clock file may hold; see :func:`now`."""
    try:
        if text[0] in "+-":
            return datetime.now(UTC) + timedelta(seconds=float(text))
        if text.replace(".", "", 1).isdigit():
            return datetime.fromtimestamp(float(text), UTC)
        instant = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError) as error:
        raise UnreadableClockError(
            f"{CLOCK_FILE_VARIABLE}: want an RFC 3339 time, epoch seconds"
            f" or +/-seconds, got {text[:40]!r}"
        ) from error
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return instant.astimezone(UTC)


def milliseconds(instant: datetime) -> int:
    """Return ``instant`` as epoch milliseconds, as the ledger and SQS count."""
    return round(instant.timestamp() * 1000)


def rfc3339(instant: datetime) -> str:
    """Return ``instant`` as the ledger writes it: UTC, to the millisecond."""
    return (
        instant.astimezone(UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
