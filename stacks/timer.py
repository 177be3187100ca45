"""Functions that the clock calls; what is lost on the way, or in them, is kept."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from stacks import nag
from stacks.function import Function
from stacks.queues import FailureQueues

_RETRIES = 2


class ScheduleGroup(Construct):
    """The one group of all schedules, and the one role that they act as.

    A schedule is a resource of its own and nothing more, so a fleet may have many.
    """

    def __init__(self, scope: Construct, id: str, *, failures: FailureQueues) -> None:
        """Make both; a tick that Scheduler gave up lies in ``failures.schedules``."""
        super().__init__(scope, id)
        self.failures = failures
        self._group = scheduler.CfnScheduleGroup(self, "Group")
        self._role = self._make_role()
        failures.allow_schedules(self._role)

    def allow_call(self, function: Function) -> None:
        """Let the schedules of the group call ``function``."""
        self._role.add_to_policy(
            iam.PolicyStatement(
                actions=["lambda:InvokeFunction"],
                resources=[function.function.function_arn],
            )
        )

    @property
    def name(self) -> str:
        """The group's name."""
        return self._group.ref

    @property
    def role_arn(self) -> str:
        """The role that its schedules act as."""
        return self._role.role_arn

    def allow_make(self, role: iam.IRole) -> None:
        """Let ``role`` make and remove schedules of this group, and no others."""
        stack = Stack.of(self)
        at = f"{stack.partition}:scheduler:{stack.region}:{stack.account}"
        schedules = f"arn:{at}:schedule/{self.name}/*"
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["scheduler:CreateSchedule", "scheduler:DeleteSchedule"],
                resources=[schedules],
            )
        )
        group = stack.get_logical_id(self._group)
        nag.accept(
            role,
            "IAM5[Resource::arn:<AWS::Partition>:scheduler:<AWS::Region>:"
            f"<AWS::AccountId>:schedule/<{group}>/*]",
            because="A schedule is named after its task; only the group can be said"
            " beforehand.",
        )
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["iam:PassRole"],
                resources=[self.role_arn],
                conditions={
                    "StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}
                },
            )
        )

    def add(
        self,
        scope: Construct,
        id: str,
        *,
        timer: Timer,
        function: Function,
        retries: int = _RETRIES,
    ) -> scheduler.CfnSchedule:
        """Call ``function`` whenever ``timer`` says; it must be allowed, once."""
        properties = scheduler.CfnSchedule
        minutes = timer.flexible_minutes
        schedule = scheduler.CfnSchedule(
            scope,
            id,
            group_name=self._group.ref,
            schedule_expression=timer.expression,
            schedule_expression_timezone=timer.timezone,
            flexible_time_window=properties.FlexibleTimeWindowProperty(
                mode="FLEXIBLE" if minutes else "OFF",
                maximum_window_in_minutes=minutes or None,
            ),
            state="ENABLED" if timer.is_enabled else "DISABLED",
            target=properties.TargetProperty(
                arn=function.function.function_arn,
                role_arn=self._role.role_arn,
                input=timer.input,
                dead_letter_config=properties.DeadLetterConfigProperty(
                    arn=self.failures.schedules.queue_arn
                ),
                retry_policy=properties.RetryPolicyProperty(
                    maximum_event_age_in_seconds=timer.oldest_request_seconds,
                    maximum_retry_attempts=retries,
                ),
            ),
        )
        # Scheduler refuses a role that may not do yet what the schedule asks of it.
        schedule.node.add_dependency(self._role)
        return schedule

    def _make_role(self) -> iam.Role:
        """Return a role that Scheduler takes on for this group's schedules alone."""
        only = {
            "aws:SourceAccount": Stack.of(self).account,
            "aws:SourceArn": self._group.attr_arn,
        }
        return iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com", conditions={"StringEquals": only}
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Timer:
    """When a function is called, and how old a call may get before it is given up.

    ``expression`` is EventBridge Scheduler's own (``rate(...)``, ``cron(...)``).
    ``input`` is JSON text; Scheduler puts its context attributes into it.
    """

    expression: str
    oldest_request_seconds: int
    timezone: str | None = None
    input: str | None = None
    flexible_minutes: int = 0
    is_enabled: bool = True

    def call(
        self, scope: Construct, function: Function, schedules: ScheduleGroup
    ) -> None:
        """Call ``function``, which nothing else calls; what it loses is kept."""
        keep_failed(
            scope,
            function,
            schedules.failures,
            oldest_request_seconds=self.oldest_request_seconds,
        )
        schedules.allow_call(function)
        schedules.add(scope, "Schedule", timer=self, function=function)


def keep_failed(
    scope: Construct,
    function: Function,
    failures: FailureQueues,
    *,
    oldest_request_seconds: int,
) -> None:
    """Keep the asynchronous calls that ``function`` failed for good."""
    queue = failures.asynchronous
    failures.allow_send(function.role, queue)
    lambda_.CfnEventInvokeConfig(
        scope,
        "Invocations",
        function_name=function.function.function_name,
        qualifier="$LATEST",
        maximum_retry_attempts=_RETRIES,
        maximum_event_age_in_seconds=oldest_request_seconds,
        destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
            on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(
                destination=queue.queue_arn
            )
        ),
    )
