"""Business hours: one container is kept in them, so that somebody misses the work.

Where nothing comes there is no container, and nobody who would say that nothing comes.
"""

from __future__ import annotations

from datetime import time

from aws_cdk import aws_applicationautoscaling as autoscaling

from lambdas.shared.fleet import Agent
from lambdas.shared.fleet.hours import DAYS, BusinessHours, business_hours

_Action = autoscaling.CfnScalableTarget.ScheduledActionProperty
_Moment = tuple[int, time]

_MIDNIGHT = time(0)


def least(agent: Agent) -> int:
    """Return how many containers there are at least, at any time."""
    hours = _hours(agent)
    return int(hours is not None and not any(_changes(hours)))


def changes(agent: Agent) -> list[_Action]:
    """Return when a container begins and ceases to be kept, local to the agent."""
    hours = _hours(agent)
    if hours is None:
        return []
    named = zip(("Open", "Close"), _changes(hours), (1, 0), strict=True)
    return [
        _Action(
            scheduled_action_name=name,
            schedule=_cron(moments),
            timezone=agent.timezone,
            scalable_target_action=(
                autoscaling.CfnScalableTarget.ScalableTargetActionProperty(
                    min_capacity=kept
                )
            ),
        )
        for name, moments, kept in named
        if moments
    ]


def _hours(agent: Agent) -> BusinessHours | None:
    if agent.business_hours is None:
        return None
    return business_hours(agent.business_hours, agent.timezone)


def _changes(hours: BusinessHours) -> tuple[set[_Moment], set[_Moment]]:
    """Return on which weekdays, and when, the hours begin and end.

    Where they end as the next begin, they do neither.
    """
    ends = hours.closes or _MIDNIGHT
    later = 1 if ends <= hours.opens else 0
    opens = {(day, hours.opens) for day in hours.days}
    closes = {((day + later) % 7, ends) for day in hours.days}
    return opens - closes, closes - opens


def _cron(moments: set[_Moment]) -> str:
    """Return when they are; hours begin at one time, and end at one, on all days."""
    (at,) = {at for _, at in moments}
    days = ",".join(DAYS[day] for day, _ in sorted(moments))
    return f"cron({at.minute} {at.hour} ? * {days} *)"
