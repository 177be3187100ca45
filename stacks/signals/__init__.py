"""What tells of trouble: the alarms of a fleet, by the part that they watch.

One per kind over the fleet, because CloudFormation takes 500 resources and a
person reads few; the page of each says how to find which agent it is. Missed
fires alone have an alarm per schedule.
"""

from __future__ import annotations

from stacks.alarms import Alarms
from stacks.signals import agents, calendars, carrying, door, feeds, polling, schedules
from stacks.signals.watched import Watched, watched

__all__ = ["Watched", "add_all", "watched"]


def add_all(fleet: Watched, alarms: Alarms) -> None:
    """Add every alarm, and the one that pages a human."""
    for module in (door, carrying, agents):
        for alarm in module.alarms(fleet):
            alarms.add(alarm)
    polling.add(fleet, alarms)
    schedules.add(fleet, alarms)
    calendars.add(fleet, alarms)
    feeds.add(fleet, alarms)
    alarms.page()
