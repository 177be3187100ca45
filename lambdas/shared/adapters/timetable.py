"""One-off schedules in EventBridge Scheduler, which delete themselves after firing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from lambdas.shared.adapters.failures import code, told_apart

if TYPE_CHECKING:
    from mypy_boto3_scheduler import EventBridgeSchedulerClient

_WHAT = "EventBridge Scheduler"
# A start that Scheduler could not tell for a day is past: the planner's own look at
# the plan has begun it long before.
_OLDEST_SECONDS = 86_400
_RETRIES = 185


class OneOffs:
    """A :class:`lambdas.planner.planner.Timetable` in one schedule group."""

    def __init__(
        self,
        client: Callable[[], EventBridgeSchedulerClient],
        *,
        group: str,
        target_arn: str,
        role_arn: str,
        failures_arn: str,
    ) -> None:
        """Call ``target_arn`` as ``role_arn``; ``failures_arn`` keeps what is lost."""
        self._client = client
        self._group = group
        self._target = target_arn
        self._role = role_arn
        self._failures = failures_arn

    def put(self, name: str, at: datetime, told: str) -> None:
        """Make a schedule; one of that name that is there is the same one."""
        with told_apart(_WHAT):
            try:
                self._client().create_schedule(
                    Name=name,
                    GroupName=self._group,
                    ScheduleExpression=f"at({at.astimezone(UTC):%Y-%m-%dT%H:%M:%S})",
                    ScheduleExpressionTimezone="UTC",
                    FlexibleTimeWindow={"Mode": "OFF"},
                    ActionAfterCompletion="DELETE",
                    Target={
                        "Arn": self._target,
                        "RoleArn": self._role,
                        "Input": told,
                        "DeadLetterConfig": {"Arn": self._failures},
                        "RetryPolicy": {
                            "MaximumEventAgeInSeconds": _OLDEST_SECONDS,
                            "MaximumRetryAttempts": _RETRIES,
                        },
                    },
                )
            except ClientError as error:
                if code(error) != "ConflictException":
                    raise

    def drop(self, name: str) -> None:
        """Remove a schedule, if it is there."""
        with told_apart(_WHAT):
            try:
                self._client().delete_schedule(Name=name, GroupName=self._group)
            except ClientError as error:
                if code(error) != "ResourceNotFoundException":
                    raise
