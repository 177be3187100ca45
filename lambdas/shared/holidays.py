"""Which days are no business days in a country, or in a part of one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from lambdas.shared.errors import Misconfigured


def holidays_of(place: str | None) -> Callable[[date], bool]:
    """Return what tells whether a day is a holiday there; None: no day is.

    Raises:
        Misconfigured: those of no such country, or part, are known.
    """
    if place is None:
        return lambda day: False  # noqa: ARG005 - every weekday is a business day
    # Imported here: it knows every country, and few calendars ask.
    import holidays

    country, _, part = place.partition("-")
    try:
        known = holidays.country_holidays(country, subdiv=part or None)
    except NotImplementedError:
        raise Misconfigured(
            f"holidays: want a country, or a part of one, whose holidays are known,"
            f" got {place!r}"
        ) from None
    return lambda day: day in known
