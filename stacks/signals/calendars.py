"""Alarms of the calendars: each that is not read, and what is wrong with any."""

from __future__ import annotations

from lambdas.shared.fleet import logical_name
from stacks.alarms import Alarm, Alarms, ours
from stacks.signals.watched import Watched


def add(fleet: Watched, alarms: Alarms) -> None:
    """Add one per calendar for its staleness, and the others over all of them."""
    for name in fleet.calendars:
        alarms.add(_stale(name), id=f"Stale{logical_name(name)}")
    if fleet.calendars:
        alarms.add(_held())
        alarms.add(_missed())


def _stale(calendar: str) -> Alarm:
    return Alarm(
        name="calendar-stale",
        meaning=f"The calendar {calendar} was not read.",
        because="three hours; it is read every 15 minutes, and a site may be down for"
        " one. What changed since is not known; what is planned begins.",
        metrics={"read": ours("CalendarRead", Calendar=calendar)},
        is_at_fault="<",
        threshold=1,
        period_seconds=3600,
        least=3,
        of=3,
        missing="breaching",
        # The operator writes the address after the first deployment.
        warm_up_minutes=30,
        pages=False,
    )


def _held() -> Alarm:
    return Alarm(
        name="calendar-held",
        meaning="A calendar's feed says something that is not obeyed: most of it is"
        " gone, or its ids are others.",
        because="one; a person must say whether it is true.",
        metrics={"held": ours("CalendarHeld")},
        threshold=1,
        period_seconds=3600,
        pages=False,
    )


def _missed() -> Alarm:
    return Alarm(
        name="tasks-missed",
        meaning="The deadline of planned work passed before the work began.",
        because="one; nobody will begin it any more.",
        metrics={"missed": ours("TasksMissed")},
        threshold=1,
        period_seconds=3600,
        pages=False,
    )
