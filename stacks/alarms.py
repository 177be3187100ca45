"""Alarms: each kind of trouble once, with the reason for its threshold beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from lambdas.shared.observe import NAMESPACE
from stacks.encryption import Encryption
from stacks.topics import make_topic

# CloudWatch's own limit for an alarm over an expression.
MOST_METRICS = 10

_OPERATORS = {
    ">": "GreaterThanThreshold",
    ">=": "GreaterThanOrEqualToThreshold",
    "<": "LessThanThreshold",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric under exactly these dimensions, and how its samples are summed up."""

    namespace: str
    name: str
    statistic: str = "Sum"
    dimensions: Mapping[str, str] = field(default_factory=dict)


def ours(name: str, statistic: str = "Sum", **dimensions: str) -> Metric:
    """Return a metric that our functions emit (docs/reference/metrics.md)."""
    return Metric(
        namespace=NAMESPACE, name=name, statistic=statistic, dimensions=dimensions
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One alarm; ``name`` is that of its page in ``docs/runbooks``.

    ``meaning`` is what a person who is woken reads first, ``because`` why the
    threshold is where it is. Without an ``expression`` there is one metric, and it
    is judged itself. It rings when ``least`` of the last ``of`` periods are at
    fault; ``missing`` is what a period without data counts as. No state is told for
    ``warm_up_minutes`` after the alarm was made. What ``pages`` cannot wait for the
    morning. ``number`` tells apart the alarms of one kind where a fleet has more
    metrics than one alarm takes.
    """

    name: str
    meaning: str
    because: str
    metrics: Mapping[str, Metric]
    expression: str | None = None
    is_at_fault: Literal[">", ">=", "<"] = ">="
    threshold: float
    period_seconds: int = 300
    least: int = 1
    of: int = 1
    missing: Literal["breaching", "notBreaching"] = "notBreaching"
    warm_up_minutes: int | None = None
    pages: bool
    number: int = 1

    @property
    def id(self) -> str:
        """The construct's id: ``dead-letters`` is DeadLetters, then DeadLetters2."""
        words = "".join(word.capitalize() for word in self.name.split("-"))
        return words if self.number == 1 else f"{words}{self.number}"

    @property
    def description(self) -> str:
        """What somebody reads who was woken by it."""
        return (
            f"{self.meaning} Threshold: {self.because}"
            f" What to do: docs/runbooks/{self.name}.md"
        )


class Alarms(Construct):
    """Every alarm, and whom it tells: the operator says who listens.

    ``notices`` hears every alarm, ``pages`` only that one cannot wait.
    """

    def __init__(self, scope: Construct, id: str, *, encryption: Encryption) -> None:
        """Make the two topics."""
        super().__init__(scope, id)
        self.notices = make_topic(self, "Notices", encryption=encryption)
        self.pages = make_topic(self, "Pages", encryption=encryption)
        self.made: list[cloudwatch.CfnAlarm] = []
        self._paging: list[cloudwatch.CfnAlarm] = []

    def add(self, alarm: Alarm, *, id: str | None = None) -> None:
        """Make ``alarm``; ``id`` where its own would not be the only one."""
        made = _make(self, id or alarm.id, alarm, self.notices.topic_arn)
        self.made.append(made)
        if alarm.pages:
            self._paging.append(made)

    def page(self) -> None:
        """Make the alarm over those that cannot wait; all of them are made by now."""
        rule = " OR ".join(f'ALARM("{alarm.attr_arn}")' for alarm in self._paging)
        cloudwatch.CfnCompositeAlarm(
            self,
            "PageAHuman",
            alarm_description="Events are lost or late, or soon will be; the alarms"
            " inside say which. What to do: docs/runbooks/page-a-human.md",
            alarm_rule=rule,
            alarm_actions=[self.pages.topic_arn],
            ok_actions=[self.pages.topic_arn],
        )


def _make(
    scope: Construct, id: str, alarm: Alarm, topic_arn: str
) -> cloudwatch.CfnAlarm:
    # L1: the L2 alarm knows no warm-up.
    made = cloudwatch.CfnAlarm(
        scope,
        id,
        alarm_description=alarm.description,
        comparison_operator=_OPERATORS[alarm.is_at_fault],
        threshold=alarm.threshold,
        evaluation_periods=alarm.of,
        datapoints_to_alarm=alarm.least,
        treat_missing_data=alarm.missing,
        alarm_actions=[topic_arn],
        ok_actions=[topic_arn],
        warm_up_configuration=_warm_up(alarm),
    )
    if alarm.expression is None:
        ((_, metric),) = alarm.metrics.items()
        _watch(made, metric, alarm.period_seconds)
    else:
        made.metrics = [*_queries(alarm, alarm.expression)]
    return made


def _warm_up(
    alarm: Alarm,
) -> cloudwatch.CfnAlarm.WarmUpConfigurationProperty | None:
    if alarm.warm_up_minutes is None:
        return None
    return cloudwatch.CfnAlarm.WarmUpConfigurationProperty(
        warm_up_period_duration_in_minutes=alarm.warm_up_minutes,
        only_start_evaluating_after_warm_up_period_ends=True,
    )


def _watch(made: cloudwatch.CfnAlarm, metric: Metric, period_seconds: int) -> None:
    made.namespace = metric.namespace
    made.metric_name = metric.name
    made.period = period_seconds
    made.dimensions = [*_dimensions(metric)]
    if metric.statistic.startswith("p"):
        made.extended_statistic = metric.statistic
        # A small fleet has few samples, and its slow answers are as slow.
        made.evaluate_low_sample_count_percentile = "evaluate"
    else:
        made.statistic = metric.statistic


def _queries(
    alarm: Alarm, expression: str
) -> list[cloudwatch.CfnAlarm.MetricDataQueryProperty]:
    if len(alarm.metrics) > MOST_METRICS:
        raise ValueError(f"{alarm.name}: {len(alarm.metrics)} metrics in one alarm")
    properties = cloudwatch.CfnAlarm
    judged = properties.MetricDataQueryProperty(
        id="judged", expression=expression, label=alarm.name, return_data=True
    )
    return [
        judged,
        *(
            properties.MetricDataQueryProperty(
                id=name,
                return_data=False,
                metric_stat=properties.MetricStatProperty(
                    metric=properties.MetricProperty(
                        namespace=metric.namespace,
                        metric_name=metric.name,
                        dimensions=_dimensions(metric),
                    ),
                    stat=metric.statistic,
                    period=alarm.period_seconds,
                ),
            )
            for name, metric in alarm.metrics.items()
        ),
    ]


def _dimensions(metric: Metric) -> list[cloudwatch.CfnAlarm.DimensionProperty]:
    return [
        cloudwatch.CfnAlarm.DimensionProperty(name=name, value=value)
        for name, value in metric.dimensions.items()
    ]
