"""Zones by the names that calendars give them: Windows', Outlook's, with a path."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

# A path before the name: /freeassociation.sourceforge.net/Tzfile/Europe/Berlin.
_MOST_PARTS = 3


def zone_named(name: str) -> ZoneInfo | None:
    """Return the zone that ``name`` means, or None where it means none."""
    name = name.strip().strip('"')
    if name in WINDOWS_TO_OLSON:
        return _iana(WINDOWS_TO_OLSON[name])
    parts = [part for part in name.split("/") if part]
    for count in range(min(_MOST_PARTS, len(parts)), 0, -1):
        zone = _iana("/".join(parts[-count:]))
        if zone is not None:
            return zone
    return None


def _iana(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError):  # none, a folder, no name
        return None
