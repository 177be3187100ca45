"""Durations and instants as they are typed: ``90s``, ``15m``, ``2h``, ``3d``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from cli.output import UsageError

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def duration(text: str) -> timedelta:
    """Read a duration, such as ``90s`` or ``1h30m``.

    Raises:
        UsageError: it is none.
    """
    parts = _DURATION.findall(text)
    if not parts or "".join(n + unit for n, unit in parts) != text:
        raise UsageError(f"want a duration such as 90s, 15m, 2h or 1d12h, got {text!r}")
    try:
        total = timedelta()
        for number, unit in parts:
            total += timedelta(**{_UNITS[unit]: float(number)})
    except OverflowError:
        raise UsageError(f"{text!r} is too long") from None
    return total


def instant(text: str, now: datetime) -> datetime:
    """Read an instant (RFC 3339), or how long ago it was (``2h``).

    Raises:
        UsageError: it is neither.
    """
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        try:
            return now - duration(text)
        except (UsageError, OverflowError):
            raise UsageError(
                f"want an RFC 3339 time, or how long ago, such as 2h; got {text!r}"
            ) from None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
