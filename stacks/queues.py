"""Queues: all encrypted, reached by TLS only, and retained with what they hold."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lambdas.shared.fleet.model import DLQ_RETENTION_DAYS
from stacks import nag
from stacks.encryption import Encryption


class FailureQueues(Construct):
    """Where what could not be delivered waits, one queue per kind of writer.

    No queue feeds them, so the console cannot redrive them; ``bellhop replay``
    does. A role must be let in by name; all of our rules are, by the queue's policy.
    """

    def __init__(self, scope: Construct, id: str, *, encryption: Encryption) -> None:
        """Make the four of them."""
        super().__init__(scope, id)
        self._encryption = encryption
        self.rules = self._make("Rules")
        self.schedules = self._make("Schedules")
        self.parked = self._make("RelayParked")
        self.asynchronous = self._make("Async")
        # One statement for all: SQS takes 20 statements per queue, a fleet has
        # more rules than that.
        stack = Stack.of(self)
        at = f"{stack.region}:{stack.account}"
        allow_rules(
            self.rules,
            [f"arn:{stack.partition}:events:{at}:rule/*{stack.stack_name}-*"],
        )

    @property
    def all(self) -> list[sqs.Queue]:
        """All of them: of rules, schedules, the relay and asynchronous functions."""
        return [self.rules, self.schedules, self.parked, self.asynchronous]

    def allow_send(self, role: iam.IRole, queue: sqs.Queue) -> None:
        """Let ``role`` write to ``queue``: its permission, and the key's."""
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["sqs:SendMessage"], resources=[queue.queue_arn]
            )
        )
        self._encryption.allow_send(role)

    def allow_schedules(self, role: iam.IRole) -> None:
        """Let the schedules that act as ``role`` write down what they lost."""
        self.allow_send(role, self.schedules)
        self._encryption.admit_scheduler(role)

    def _make(self, id: str) -> sqs.Queue:
        queue = make_queue(
            self, id, encryption=self._encryption, days=DLQ_RETENTION_DAYS
        )
        nag.accept(
            queue, "SQS3", because="It is itself a failure queue; nothing receives it."
        )
        return queue


def make_queue(
    scope: Construct,
    id: str,
    *,
    encryption: Encryption,
    days: int,
    visibility_seconds: int = 30,
    dead_letters: sqs.DeadLetterQueue | None = None,
    redrive_allow_policy: sqs.RedriveAllowPolicy | None = None,
) -> sqs.Queue:
    """Return a queue that keeps its messages ``days``."""
    return sqs.Queue(
        scope,
        id,
        encryption=sqs.QueueEncryption.KMS,
        encryption_master_key=encryption.key,
        enforce_ssl=True,
        retention_period=Duration.days(days),
        visibility_timeout=Duration.seconds(visibility_seconds),
        dead_letter_queue=dead_letters,
        redrive_allow_policy=redrive_allow_policy,
        removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    )


def allow_rules(queue: sqs.Queue, rule_arns: Sequence[str]) -> None:
    """Let these rules write to ``queue``; their use of the key is in its policy."""
    queue.add_to_resource_policy(
        iam.PolicyStatement(
            sid="Rules",
            principals=[iam.ServicePrincipal("events.amazonaws.com")],
            actions=["sqs:SendMessage"],
            resources=[queue.queue_arn],
            conditions={
                "StringEquals": {"aws:SourceAccount": Stack.of(queue).account},
                "ArnLike": {"aws:SourceArn": list(rule_arns)},
            },
        )
    )
