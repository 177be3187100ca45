"""The sweep: every quarter of an hour it looks for events that nobody carried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lambdas.shared.settings import SweepSettings
from stacks.bus import Bus
from stacks.function import Function, Functions
from stacks.ledger import Ledger
from stacks.queues import FailureQueues

_PERIOD_MINUTES = 15
# Less than the period: a sweep that comes late would look at its successor's window.
_OLDEST_REQUEST_SECONDS = 600
_RETRIES = 2
_TIMEOUT_SECONDS = 300
_MEMORY_MB = 512


class Sweep(Construct):
    """Re-publishes what the relay lost; see DESIGN for what it must not touch."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        functions: Functions,
        queues: Mapping[str, sqs.Queue],
        ledger: Ledger,
        bus: Bus,
        failures: FailureQueues,
    ) -> None:
        """Make the sweep and its schedule."""
        super().__init__(scope, id)
        self._failures = failures
        sweep = functions.make(
            self,
            "Sweep",
            name="sweep",
            settings=SweepSettings(
                ledger_table=ledger.table.table_name,
                payload_bucket=ledger.bucket.bucket_name,
                bus_name=bus.bus.event_bus_name,
                queue_urls=_listed(list(queues.values())),
            ),
            timeout_seconds=_TIMEOUT_SECONDS,
            memory_mb=_MEMORY_MB,
        )
        ledger.allow(sweep.role, "GetItem", "PutItem", "Query", "UpdateItem")
        ledger.allow(sweep.role, "Query", index="by-time")
        bus.allow_put(sweep.role)
        if queues:
            sweep.role.add_to_principal_policy(
                iam.PolicyStatement(
                    actions=["sqs:GetQueueAttributes"],
                    resources=[queue.queue_arn for queue in queues.values()],
                )
            )
        self._make_failure_destination(sweep)
        self._make_schedule(sweep)

    def _make_failure_destination(self, sweep: Function) -> None:
        queue = self._failures.asynchronous
        self._failures.allow_send(sweep.role, queue)
        lambda_.CfnEventInvokeConfig(
            self,
            "Invocations",
            function_name=sweep.function.function_name,
            qualifier="$LATEST",
            maximum_retry_attempts=_RETRIES,
            maximum_event_age_in_seconds=_OLDEST_REQUEST_SECONDS,
            destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
                on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(
                    destination=queue.queue_arn
                )
            ),
        )

    def _make_schedule(self, sweep: Function) -> None:
        group = scheduler.CfnScheduleGroup(self, "Group")
        role = self._make_schedule_role(group)
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["lambda:InvokeFunction"],
                resources=[sweep.function.function_arn],
            )
        )
        self._failures.allow_schedules(role)
        properties = scheduler.CfnSchedule
        schedule = scheduler.CfnSchedule(
            self,
            "Schedule",
            group_name=group.ref,
            schedule_expression=f"rate({_PERIOD_MINUTES} minutes)",
            flexible_time_window=properties.FlexibleTimeWindowProperty(mode="OFF"),
            target=properties.TargetProperty(
                arn=sweep.function.function_arn,
                role_arn=role.role_arn,
                dead_letter_config=properties.DeadLetterConfigProperty(
                    arn=self._failures.schedules.queue_arn
                ),
                retry_policy=properties.RetryPolicyProperty(
                    maximum_event_age_in_seconds=_OLDEST_REQUEST_SECONDS,
                    maximum_retry_attempts=_RETRIES,
                ),
            ),
        )
        # Scheduler refuses a role that may not do yet what the schedule asks of it.
        schedule.node.add_dependency(role)

    def _make_schedule_role(self, group: scheduler.CfnScheduleGroup) -> iam.Role:
        """Return a role that Scheduler takes on for this group's schedules alone."""
        only = {"aws:SourceAccount": Stack.of(self).account}
        return iam.Role(
            self,
            "ScheduleRole",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={"StringEquals": {**only, "aws:SourceArn": group.attr_arn}},
            ),
        )


def _listed(queues: Sequence[sqs.Queue]) -> str:
    """Return what ``SweepSettings.queue_urls`` wants."""
    # Put together by hand: both are references, which hold nothing to escape.
    urls = [queue.queue_url for queue in queues[:1]]
    names = [queue.queue_name for queue in queues[1:]]
    return "[" + ",".join(f'"{each}"' for each in (*urls, *names)) + "]"
