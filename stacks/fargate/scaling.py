"""How many containers an agent has: none without work, then one for each message."""

from __future__ import annotations

from aws_cdk import Fn
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lambdas.shared.fleet import Agent
from stacks.fargate import attended

# Application Auto Scaling takes 20 steps in a policy.
MOST_STEPS = 20

# SQS counts once a minute. No work for five, so that what follows on the last run finds
# a container that has started.
_PERIOD_SECONDS = 60
_IDLE_MINUTES = 5
_COOLDOWN_SECONDS = 120

# Both alarms ring by one message; the bounds of their steps are counted from there.
_THRESHOLD = 1

_Step = autoscaling.CfnScalingPolicy.StepAdjustmentProperty


def sizes_to(most: int) -> list[int]:
    """Return the sizes that a service has between none and ``most``, ascending.

    One container more for one message more as long as the steps last; for more than
    they can say, each size is larger than the last by one factor.
    """
    if most <= MOST_STEPS:
        return list(range(1, most + 1))
    sizes = [1]
    for left in range(MOST_STEPS - 1, 0, -1):
        factor = (most / sizes[-1]) ** (1 / left)
        sizes.append(max(sizes[-1] + 1, round(sizes[-1] * factor)))
    return sizes


class Scaling(Construct):
    """Sets how many containers there are by how many messages there are.

    Messages that wait and messages that are worked on count alike, and a worker takes
    one at a time: so the backlog per container is one. The size is set, not added to:
    containers that are still starting are not ordered twice, and those without work
    go. ECS may pick any of them for that, but one at work has protected itself.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster: ecs.CfnCluster,
        service: ecs.CfnService,
        queue: sqs.Queue,
        agent: Agent,
    ) -> None:
        """Scale ``service`` from none to max_concurrency by what is in ``queue``."""
        super().__init__(scope, id)
        self._queue = queue
        most = agent.max_concurrency
        self._target = autoscaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="ecs",
            scalable_dimension="ecs:service:DesiredCount",
            resource_id=Fn.join("/", ["service", cluster.ref, service.attr_name]),
            min_capacity=attended.least(agent),
            max_capacity=most,
            scheduled_actions=attended.changes(agent),
        )
        busy = self._policy("Busy", _steps(sizes_to(most)))
        self._alarm("Work", "GreaterThanOrEqualToThreshold", 1, "notBreaching", busy)
        none = _Step(metric_interval_upper_bound=0, scaling_adjustment=0)
        idle = self._policy("Idle", [none])
        # SQS ceases to count a queue that nobody looks at for six hours, and takes a
        # quarter of one to begin again. The sweep looks at each every 15 minutes.
        self._alarm("Rest", "LessThanThreshold", _IDLE_MINUTES, "breaching", idle)

    def _policy(self, id: str, steps: list[_Step]) -> autoscaling.CfnScalingPolicy:
        configuration = autoscaling.CfnScalingPolicy
        return configuration(
            self,
            id,
            policy_name=id,
            policy_type="StepScaling",
            scaling_target_id=self._target.ref,
            step_scaling_policy_configuration=(
                configuration.StepScalingPolicyConfigurationProperty(
                    adjustment_type="ExactCapacity",
                    cooldown=_COOLDOWN_SECONDS,
                    metric_aggregation_type="Maximum",
                    step_adjustments=steps,
                )
            ),
        )

    def _alarm(
        self,
        id: str,
        comparison: str,
        minutes: int,
        missing: str,
        policy: autoscaling.CfnScalingPolicy,
    ) -> None:
        """Call ``policy`` every minute while the backlog compares so."""
        query = cloudwatch.CfnAlarm.MetricDataQueryProperty
        cloudwatch.CfnAlarm(
            self,
            id,
            alarm_description="Sets how many containers there are; tells nobody.",
            comparison_operator=comparison,
            threshold=_THRESHOLD,
            evaluation_periods=minutes,
            datapoints_to_alarm=minutes,
            treat_missing_data=missing,
            alarm_actions=[policy.ref],
            metrics=[
                query(
                    id="backlog",
                    label="messages that wait or are worked on",
                    expression="FILL(waiting,0)+FILL(working,0)",
                    return_data=True,
                ),
                self._counted("waiting", "ApproximateNumberOfMessagesVisible"),
                self._counted("working", "ApproximateNumberOfMessagesNotVisible"),
            ],
        )

    def _counted(
        self, id: str, metric: str
    ) -> cloudwatch.CfnAlarm.MetricDataQueryProperty:
        properties = cloudwatch.CfnAlarm
        return properties.MetricDataQueryProperty(
            id=id,
            return_data=False,
            metric_stat=properties.MetricStatProperty(
                metric=properties.MetricProperty(
                    namespace="AWS/SQS",
                    metric_name=metric,
                    dimensions=[
                        properties.DimensionProperty(
                            name="QueueName", value=self._queue.queue_name
                        )
                    ],
                ),
                stat="Maximum",
                period=_PERIOD_SECONDS,
            ),
        )


def _steps(sizes: list[int]) -> list[_Step]:
    """Return the step of each size; it holds for all that the one before is short of.

    A size is right for its own backlog and for every one above the last size.
    """
    lower = [0, *(size + 1 - _THRESHOLD for size in sizes[:-1])]
    upper = [*lower[1:], None]
    return [
        _Step(
            metric_interval_lower_bound=low,
            metric_interval_upper_bound=high,
            scaling_adjustment=size,
        )
        for size, low, high in zip(sizes, lower, upper, strict=True)
    ]
