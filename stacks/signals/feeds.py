"""Alarms of the feeds: each that is not read as often as it should be."""

from __future__ import annotations

from datetime import timedelta

from lambdas.shared.cron import longest_of
from lambdas.shared.fleet import Feed, logical_name
from stacks.alarms import Alarm, Alarms, ours
from stacks.schedules import MEASURED_FROM
from stacks.signals.watched import Watched

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_MISSES = 3
# CloudWatch looks a week back, at hours and longer.
_MOST_DAYS = 7


def add(fleet: Watched, alarms: Alarms) -> None:
    """Add one per feed that is looked at."""
    for feed in fleet.feeds:
        alarms.add(_stale(feed), id=f"Unread{logical_name(feed.name)}")


def _stale(feed: Feed) -> Alarm:
    longest = longest_of(feed.expression, feed.timezone, MEASURED_FROM)
    if longest <= _HOUR:
        period, looks = _HOUR, _MISSES
    else:
        days = -(-longest * _MISSES // _DAY)
        period, looks = _DAY, min(max(days, 2), _MOST_DAYS)
    return Alarm(
        name="feed-stale",
        meaning=f"The feed {feed.name} was not read.",
        because=f"{looks} {'hours' if period == _HOUR else 'days'}, in which it was to"
        " be looked at three times or more; a site may be down for one. What it"
        " published since is not known.",
        metrics={"read": ours("FeedRead", Source=feed.name)},
        is_at_fault="<",
        threshold=1,
        period_seconds=int(period.total_seconds()),
        least=looks,
        of=looks,
        missing="breaching",
        # The operator may have a secret to write after the first deployment.
        warm_up_minutes=30,
        pages=False,
    )
