"""The bus, and a rule for everything an agent listens to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lambdas.shared.fleet import OWN_BUS, Agent
from stacks.queues import FailureQueues, allow_rules

# A rule that cannot reach its queue tries for a day, which is AWS's longest, and
# then writes to the rules' failure queue.
_RETRY_AGE_SECONDS = 86_400
_RETRIES = 185


class Bus(Construct):
    """Carries events to the queues of the agents that listen.

    It lies under AWS's own key: only ids and facts are on it, never a payload.
    """

    def __init__(self, scope: Construct, id: str, *, failures: FailureQueues) -> None:
        """Make the bus; what its rules cannot deliver goes to ``failures.rules``."""
        super().__init__(scope, id)
        self._failures = failures
        self.bus = events.EventBus(self, "Bus")

    def allow_put(self, role: iam.IRole) -> None:
        """Let ``role`` publish."""
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["events:PutEvents"], resources=[self.bus.event_bus_arn]
            )
        )

    def deliver(self, scope: Construct, agent: Agent, queue: sqs.Queue) -> None:
        """Put on ``queue`` whatever ``agent`` listens to.

        An event that matches two of its patterns arrives twice; the second
        message finds the run done. The envelope travels untransformed.
        """
        rules = [
            self._rule(
                scope, f"On{number}", subscription.bus, subscription.pattern, queue
            )
            for number, subscription in enumerate(agent.on, start=1)
        ]
        if rules:
            allow_rules(queue, [rule.attr_arn for rule in rules])

    def _rule(
        self,
        scope: Construct,
        id: str,
        bus: str,
        pattern: Mapping[str, Any],
        queue: sqs.Queue,
    ) -> events.CfnRule:
        # L1: the pattern is EventBridge's own language already, and the L2 target
        # adds one policy statement per rule to the shared queue, which holds 20.
        return events.CfnRule(
            scope,
            id,
            event_bus_name=self.bus.event_bus_name if bus == OWN_BUS else bus,
            event_pattern=dict(pattern),
            targets=[
                events.CfnRule.TargetProperty(
                    id="Queue",
                    arn=queue.queue_arn,
                    dead_letter_config=events.CfnRule.DeadLetterConfigProperty(
                        arn=self._failures.rules.queue_arn
                    ),
                    retry_policy=events.CfnRule.RetryPolicyProperty(
                        maximum_event_age_in_seconds=_RETRY_AGE_SECONDS,
                        maximum_retry_attempts=_RETRIES,
                    ),
                )
            ],
        )
