"""Alarms: each kind of trouble once, with the reason for its threshold beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from lambdas.shared.observe import NAMESPACE
from stacks.encryption import Encryption

AT_LEAST = "GreaterThanOrEqualToThreshold"
BELOW = "LessThanThreshold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One kind of alarm over one metric.

    ``name`` is its runbook's too: ``docs/runbooks/<name>.md``. ``meaning`` is what a
    person who is woken reads first, ``because`` why the threshold is where it is.
    ``missing`` is what a period without data counts as. No state is told for
    ``warm_up_minutes`` after the alarm was made.
    """

    name: str
    metric: str
    meaning: str
    threshold: float
    because: str
    comparison: str = AT_LEAST
    statistic: str = "Sum"
    period_seconds: int = 300
    periods: int = 1
    missing: Literal["notBreaching", "breaching", "ignore"] = "notBreaching"
    namespace: str = NAMESPACE
    warm_up_minutes: int | None = None


class Alarms(Construct):
    """The topic that everything which needs a person is told to, and what tells it."""

    def __init__(self, scope: Construct, id: str, *, encryption: Encryption) -> None:
        """Make the topic; who listens to it is the operator's to say."""
        super().__init__(scope, id)
        self.topic = sns.Topic(
            self, "Topic", master_key=encryption.key, enforce_ssl=True
        )
        stack = Stack.of(self)
        at = f"{stack.region}:{stack.account}"
        ours = f"cloudwatch:{at}:alarm:{stack.stack_name}-*"
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="Alarms",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": f"arn:{stack.partition}:{ours}"},
                },
            )
        )

    def add(
        self, scope: Construct, id: str, alarm: Alarm, **dimensions: str
    ) -> cloudwatch.CfnAlarm:
        """Watch the metric of ``alarm`` under exactly these dimensions."""
        properties = cloudwatch.CfnAlarm
        about = "".join(f" {name}: {value}." for name, value in dimensions.items())
        warm_up = None
        if alarm.warm_up_minutes is not None:
            warm_up = properties.WarmUpConfigurationProperty(
                warm_up_period_duration_in_minutes=alarm.warm_up_minutes,
                only_start_evaluating_after_warm_up_period_ends=True,
            )
        return cloudwatch.CfnAlarm(
            scope,
            id,
            alarm_description=f"{alarm.meaning}{about} Threshold: {alarm.because}"
            f" What to do: docs/runbooks/{alarm.name}.md",
            namespace=alarm.namespace,
            metric_name=alarm.metric,
            dimensions=[
                properties.DimensionProperty(name=name, value=value)
                for name, value in dimensions.items()
            ]
            or None,
            statistic=alarm.statistic,
            period=alarm.period_seconds,
            evaluation_periods=alarm.periods,
            datapoints_to_alarm=alarm.periods,
            threshold=alarm.threshold,
            comparison_operator=alarm.comparison,
            treat_missing_data=alarm.missing,
            warm_up_configuration=warm_up,
            alarm_actions=[self.topic.topic_arn],
            ok_actions=[self.topic.topic_arn],
        )
