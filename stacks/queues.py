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
    does. A writer must be let in by name: :func:`allow_send`, or for rules the
    queue's own policy.
    """

    def __init__(self, scope: Construct, id: str, *, encryption: Encryption) -> None:
        """Make the four of them."""
        super().__init__(scope, id)
        self.rules = self._make("Rules", encryption)
        self.schedules = self._make("Schedules", encryption)
        self.parked = self._make("RelayParked", encryption)
        self.asynchronous = self._make("Async", encryption)
        # One statement for all: SQS takes 20 statements per queue, a fleet has
        # more rules than that.
        stack = Stack.of(self)
        at = f"{stack.region}:{stack.account}"
        allow_rules(
            self.rules,
            [f"arn:{stack.partition}:events:{at}:rule/*{stack.stack_name}-*"],
        )

    def _make(self, id: str, encryption: Encryption) -> sqs.Queue:
        queue = make_queue(self, id, encryption=encryption, days=DLQ_RETENTION_DAYS)
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


def allow_send(role: iam.IRole, queue: sqs.Queue, encryption: Encryption) -> None:
    """Let ``role`` write to ``queue``: the queue's permission and the key's."""
    role.add_to_principal_policy(
        iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn])
    )
    encryption.allow_send(role)


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
