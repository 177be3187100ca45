"""The fleet's schedules: Scheduler, the function that takes ticks, and the watcher."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from constructs import Construct

from lambdas.shared.cron import period_of
from lambdas.shared.fleet import Schedule, logical_name
from lambdas.shared.settings import CronSettings, WatcherSettings
from stacks.function import Function, Functions
from stacks.ledger import BODIES, Ledger
from stacks.timer import ScheduleGroup, Timer, keep_failed

# Scheduler tries a tick between a minute and a day, Lambda an invocation between a
# minute and six hours.
_LEAST_SECONDS, _LONGEST_SECONDS, _LONGEST_ASYNC_SECONDS = 60, 86_400, 21_600
_RETRIES = 185
# A tick that is a minute from its successor is left to it.
_MARGIN_SECONDS = 60
# Where the distances of fires are measured from; any day would do, but the same
# fleet must make the same template every day.
MEASURED_FROM = datetime(2026, 1, 1, tzinfo=UTC)

_WATCH_MINUTES = 5
_WATCH_OLDEST_SECONDS = 240


class Schedules(Construct):
    """One Scheduler schedule per schedule; the rest is shared."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        schedules: Mapping[str, Schedule],
        group: ScheduleGroup,
        functions: Functions,
        ledger: Ledger,
    ) -> None:
        """Make them, with what takes the ticks and what watches that they come."""
        super().__init__(scope, id)
        self._ledger = ledger
        self._group = group
        cron = self._make_cron(functions, schedules)
        for name, schedule in schedules.items():
            group.add(
                self,
                f"Tick{logical_name(name)}",
                timer=timer_of(schedule),
                function=cron,
                retries=_RETRIES,
            )
        self._make_watcher(functions)

    def _make_cron(
        self, functions: Functions, schedules: Mapping[str, Schedule]
    ) -> Function:
        ledger = self._ledger
        cron = functions.make(
            self,
            "Cron",
            name="cron",
            settings=CronSettings(
                ledger_table=ledger.table.table_name,
                payload_bucket=ledger.bucket.bucket_name,
            ),
            timeout_seconds=60,
            memory_mb=512,
        )
        ledger.allow(cron.role, "GetItem", "PutItem", "Query", "UpdateItem")
        ledger.allow_put(cron.role, BODIES)
        # One function for all: its limit is that of the most frequent schedule.
        oldest = min(map(oldest_seconds, schedules.values()))
        keep_failed(
            cron,
            cron,
            self._group.failures,
            oldest_request_seconds=min(oldest, _LONGEST_ASYNC_SECONDS),
        )
        self._group.allow_call(cron)
        return cron

    def _make_watcher(self, functions: Functions) -> None:
        ledger = self._ledger
        watcher = functions.make(
            self,
            "Watcher",
            name="watcher",
            settings=WatcherSettings(
                ledger_table=ledger.table.table_name,
                payload_bucket=ledger.bucket.bucket_name,
            ),
            timeout_seconds=120,
            memory_mb=512,
        )
        ledger.allow(
            watcher.role, "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"
        )
        ledger.allow_put(watcher.role, BODIES)
        timer = Timer(
            expression=f"rate({_WATCH_MINUTES} minutes)",
            oldest_request_seconds=_WATCH_OLDEST_SECONDS,
        )
        timer.call(watcher, watcher, self._group)


def timer_of(schedule: Schedule) -> Timer:
    """Return what Scheduler is told of ``schedule``.

    It puts its context attributes in place of the words in angle brackets.
    """
    told = {
        "schedule": schedule.name,
        "planned": "<aws.scheduler.scheduled-time>",
        "execution": "<aws.scheduler.execution-id>",
        "attempt": "<aws.scheduler.attempt-number>",
    }
    return Timer(
        expression=schedule.expression,
        timezone=None if schedule.rate else schedule.timezone,
        oldest_request_seconds=oldest_seconds(schedule),
        input=json.dumps(told),
        flexible_minutes=schedule.flexible_minutes,
        is_enabled=schedule.enabled,
    )


def oldest_seconds(schedule: Schedule) -> int:
    """Return how long a tick is tried: less than the time to its successor.

    And no longer than it would be run. (A schedule of every minute has no less:
    a minute is the shortest that Scheduler takes.)
    """
    period = period_of(schedule, MEASURED_FROM)
    oldest = _LONGEST_SECONDS
    if period is not None:
        oldest = min(oldest, int(period.total_seconds()) - _MARGIN_SECONDS)
    if schedule.max_lateness_seconds is not None and schedule.catch_up is None:
        oldest = min(oldest, schedule.max_lateness_seconds)
    return max(oldest, _LEAST_SECONDS)
