"""What is said of a fleet's schedules and feeds at synthesis: it depends on the day.

Apart from reading the fleet, because a function must start with a fleet whose one-off
time has passed, or whose expression has fired for the last time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time, timedelta, tzinfo
from itertools import islice
from zoneinfo import ZoneInfo

from lambdas.shared.cron import (
    NoSuchTimeError,
    parse,
    period_of,
    times_from,
    times_of,
)
from lambdas.shared.fleet.model import Feed, Fleet, Schedule, bus_source
from lambdas.shared.fleet.problems import FleetError
from lambdas.shared.patterns import matches

_SHOWN = 5
# Nearly every zone puts its clock forward or back between these; see also
# `_moved`, which looks at the zone itself.
_RISKY_FROM, _RISKY_UNTIL = time(1), time(3)
_LOOKED_AHEAD = timedelta(days=730)


def lint(fleet: Fleet, now: datetime, *, name: str = "fleet.toml") -> list[str]:
    """Return what a person should know of schedules and feeds before they are deployed.

    Raises:
        FleetError: a schedule would be refused, or never do what it says.
    """
    problems: list[str] = []
    warnings: list[str] = []
    for schedule in fleet.schedules.values():
        where = f"{name}: schedules.{schedule.name}"
        try:
            problems += [f"{where}.{text}" for text in _problems(schedule, now)]
            warnings += [f"{where}.{text}" for text in _warnings(schedule, now)]
        except NoSuchTimeError as error:
            problems.append(f"{where}.at: want a time that exists: {error}")
    if problems:
        raise FleetError(problems)
    for feed in fleet.feeds.values():
        where = f"{name}: sources.{feed.name}"
        warnings += [f"{where}{text}" for text in _of_feed(feed, fleet, now)]
    return warnings


def next_fires(schedule: Schedule, now: datetime) -> str:
    """Return the next five fires as a person reads them, local to the schedule."""
    zone = _zone(schedule.timezone)
    coming = islice(times_of(schedule, anchor=now).after(now), _SHOWN)
    shown = [f"{due.astimezone(zone):%a %Y-%m-%d %H:%M %Z}" for due in coming]
    return f"the next five fires: {', '.join(shown) or 'none'}"


def _problems(schedule: Schedule, now: datetime) -> Iterator[str]:
    period = period_of(schedule, now)
    window = timedelta(minutes=schedule.flexible_minutes)
    if period is not None and window >= period:
        minutes = int(period.total_seconds() // 60)
        yield (
            f"flexible_minutes: want less than the {minutes} minutes between two"
            f" fires, got {schedule.flexible_minutes}"
        )


def _warnings(schedule: Schedule, now: datetime) -> Iterator[str]:
    if next(times_of(schedule, anchor=now).after(now), None) is None:
        key = "at" if schedule.at else "cron"
        yield f"{key}: it has fired for the last time; {next_fires(schedule, now)}"
        return
    if schedule.cron is None or schedule.timezone == "UTC":
        return
    zone = _zone(schedule.timezone)
    moved = list(_moved(zone, now))
    if not moved:
        return
    times = _times_of_day(schedule.cron)
    risky = [t for t in times if _RISKY_FROM <= t < _RISKY_UNTIL]
    risky += [t for t in times if t not in risky and any(a <= t < b for a, b in moved)]
    if risky:
        yield (
            f"cron: fires at {min(risky):%H:%M} in {schedule.timezone}, whose clock is"
            " put forward and back about then: a time that is left out is skipped,"
            f" one that comes twice fires once; {next_fires(schedule, now)}"
        )


def _of_feed(feed: Feed, fleet: Fleet, now: datetime) -> Iterator[str]:
    coming = times_from(feed.expression, feed.timezone, anchor=now).after(now)
    if next(coming, None) is None:
        yield ".cron: it has been looked at for the last time"
    if not _is_heard(fleet, {"source": bus_source(feed.name)}):
        yield ": no agent listens to it; what it publishes would be unheard"
    elif feed.kind_from.where == "text":
        kind = feed.kind_from.name
        kinds = {"kind_from": kind}
        if feed.edits == "accept":
            kinds["edits"] = f"{kind}.edited"
        for key, word in kinds.items():
            event = {"source": bus_source(feed.name), "detail-type": word}
            if not _is_heard(fleet, event):
                yield f".{key}: no agent listens to the kind {word!r} of it"


def _is_heard(fleet: Fleet, event: Mapping[str, str]) -> bool:
    """Whether some agent's pattern takes these fields; what else it asks is not."""
    patterns = [p for agent in fleet.agents.values() for p in agent.own_patterns]
    # What each field may be can depend on others: it is taken to fit.
    if any("$or" in pattern for pattern in patterns):
        return True
    asked = ({k: v for k, v in p.items() if k in event} for p in patterns)
    return any(matches(pattern, event) for pattern in asked)


def _times_of_day(cron: str) -> list[time]:
    read = parse(cron)
    return [time(hour, minute) for hour in read.hours for minute in read.minutes]


def _moved(zone: tzinfo, now: datetime) -> Iterator[tuple[time, time]]:
    """Yield the local times of day that the zone's clock leaves out or shows twice."""
    at = now.replace(minute=0, second=0, microsecond=0)
    end = at + _LOOKED_AHEAD
    step = timedelta(hours=1)
    before = at.astimezone(zone).utcoffset()
    while at < end:
        at += step
        offset = at.astimezone(zone).utcoffset()
        if offset != before and offset is not None and before is not None:
            # Whichever side is later: the hour that is gone, or comes again.
            last = max(offset, before)
            first = min(offset, before)
            began = _began(at - step, zone)
            yield _within((began + first).time(), (began + last).time())
        before = offset


def _began(hour: datetime, zone: tzinfo) -> datetime:
    """Return when, within this hour, the clock moved; UTC, without its zone."""
    before = hour.astimezone(zone).utcoffset()
    for minutes in range(1, 61):
        at = hour + timedelta(minutes=minutes)
        if at.astimezone(zone).utcoffset() != before:
            return at.astimezone(UTC).replace(tzinfo=None)
    return hour.astimezone(UTC).replace(tzinfo=None)


def _within(first: time, last: time) -> tuple[time, time]:
    # 23:00 to midnight: the end of the day stands for it.
    return (first, last) if first < last else (first, time.max)


def _zone(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)
