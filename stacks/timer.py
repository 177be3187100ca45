"""A function that the clock calls; what it loses is kept."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from stacks.function import Function
from stacks.queues import FailureQueues

_RETRIES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """When a function is called, and how old a call may get before it is given up.

    ``expression`` is EventBridge Scheduler's own (``rate(...)``, ``cron(...)``).
    """

    expression: str
    oldest_request_seconds: int
    timezone: str | None = None

    def call(
        self, scope: Construct, function: Function, failures: FailureQueues
    ) -> None:
        """Call ``function``; a call that failed for good lies in ``failures``."""
        self._keep_failed(scope, function, failures)
        properties = scheduler.CfnSchedule
        group = scheduler.CfnScheduleGroup(scope, "Group")
        role = _make_role(scope, group)
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["lambda:InvokeFunction"],
                resources=[function.function.function_arn],
            )
        )
        failures.allow_schedules(role)
        schedule = scheduler.CfnSchedule(
            scope,
            "Schedule",
            group_name=group.ref,
            schedule_expression=self.expression,
            schedule_expression_timezone=self.timezone,
            flexible_time_window=properties.FlexibleTimeWindowProperty(mode="OFF"),
            target=properties.TargetProperty(
                arn=function.function.function_arn,
                role_arn=role.role_arn,
                dead_letter_config=properties.DeadLetterConfigProperty(
                    arn=failures.schedules.queue_arn
                ),
                retry_policy=properties.RetryPolicyProperty(
                    maximum_event_age_in_seconds=self.oldest_request_seconds,
                    maximum_retry_attempts=_RETRIES,
                ),
            ),
        )
        # Scheduler refuses a role that may not do yet what the schedule asks of it.
        schedule.node.add_dependency(role)

    def _keep_failed(
        self, scope: Construct, function: Function, failures: FailureQueues
    ) -> None:
        queue = failures.asynchronous
        failures.allow_send(function.role, queue)
        lambda_.CfnEventInvokeConfig(
            scope,
            "Invocations",
            function_name=function.function.function_name,
            qualifier="$LATEST",
            maximum_retry_attempts=_RETRIES,
            maximum_event_age_in_seconds=self.oldest_request_seconds,
            destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
                on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(
                    destination=queue.queue_arn
                )
            ),
        )


def _make_role(scope: Construct, group: scheduler.CfnScheduleGroup) -> iam.Role:
    """Return a role that Scheduler takes on for this group's schedules alone."""
    only = {"aws:SourceAccount": Stack.of(scope).account}
    return iam.Role(
        scope,
        "ScheduleRole",
        assumed_by=iam.ServicePrincipal(
            "scheduler.amazonaws.com",
            conditions={"StringEquals": {**only, "aws:SourceArn": group.attr_arn}},
        ),
    )
