"""The fleet's calendars: the planner, its clock, and the schedules that it makes."""

from __future__ import annotations

from collections.abc import Mapping

from constructs import Construct

from lambdas.shared.fleet import Calendar
from lambdas.shared.settings import PlannerSettings
from stacks.function import Functions
from stacks.ledger import BODIES, FEEDS, Ledger
from stacks.secrets import Secrets
from stacks.timer import ScheduleGroup, Timer

PERIOD_MINUTES = 15
# Less than the period; a task's own call is made good by the next look.
_OLDEST_REQUEST_SECONDS = 600
# A calendar takes 30 s at most to expand, and 20 to fetch.
_LEAST_SECONDS, _SECONDS_EACH, _LONGEST_SECONDS = 120, 60, 900
# Its own, and the child that expands.
MEMORY_MB = 1536


class Calendars(Construct):
    """One planner for all; it may make schedules only in a group of its own."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        calendars: Mapping[str, Calendar],
        clock: ScheduleGroup,
        functions: Functions,
        ledger: Ledger,
        secrets: Secrets,
    ) -> None:
        """Make it; ``clock`` is the group of the schedules that the stack makes."""
        super().__init__(scope, id)
        tasks = ScheduleGroup(self, "Tasks", failures=clock.failures)
        seconds = max(_LEAST_SECONDS, _SECONDS_EACH * len(calendars))
        planner = functions.make(
            self,
            "Planner",
            name="planner",
            settings=PlannerSettings(
                ledger_table=ledger.table.table_name,
                payload_bucket=ledger.bucket.bucket_name,
                schedule_group=tasks.name,
                schedule_role=tasks.role_arn,
                schedule_failures=clock.failures.schedules.queue_arn,
            ),
            timeout_seconds=min(seconds, _LONGEST_SECONDS),
            memory_mb=MEMORY_MB,
        )
        ledger.allow(planner.role, "GetItem", "PutItem", "Query", "UpdateItem")
        ledger.allow_put(planner.role, BODIES, FEEDS)
        ledger.allow_get(planner.role, FEEDS)
        secrets.allow(planner.role, [each.secret_name for each in calendars.values()])
        tasks.allow_call(planner)
        tasks.allow_make(planner.role)
        timer = Timer(
            expression=f"rate({PERIOD_MINUTES} minutes)",
            oldest_request_seconds=_OLDEST_REQUEST_SECONDS,
        )
        timer.call(self, planner, clock)
