"""The digest: the dead letters, told once a day at a local time."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lambdas.shared import fleet
from lambdas.shared.settings import DigestSettings
from stacks.encryption import Encryption
from stacks.function import Functions
from stacks.ledger import Ledger
from stacks.queues import FailureQueues
from stacks.secrets import Secrets
from stacks.sweep import listed
from stacks.timer import ScheduleGroup, Timer
from stacks.topics import make_topic

# A morning's digest that comes in the afternoon is still read.
_OLDEST_REQUEST_SECONDS = 6 * 3600
_TIMEOUT_SECONDS = 300
_MEMORY_MB = 512


class Digest(Construct):
    """Reads every failure queue, and the workers' logs for who died without a word."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: fleet.Digest,
        functions: Functions,
        dead_letters: Mapping[str, sqs.Queue],
        ledger: Ledger,
        failures: FailureQueues,
        schedules: ScheduleGroup,
        secrets: Secrets,
        encryption: Encryption,
    ) -> None:
        """Make the digest and its schedule."""
        super().__init__(scope, id)
        topic = self._make_topic(settings, encryption) if settings.email else None
        queues = [*dead_letters.values(), *failures.all]
        digest = functions.make(
            self,
            "Digest",
            name="dlq_digest",
            settings=DigestSettings(
                ledger_table=ledger.table.table_name,
                payload_bucket=ledger.bucket.bucket_name,
                queue_urls=listed(queues),
                stack_name=Stack.of(self).stack_name,
                region=Stack.of(self).region,
                topic_arn="none" if topic is None else topic.topic_arn,
            ),
            timeout_seconds=_TIMEOUT_SECONDS,
            memory_mb=_MEMORY_MB,
        )
        ledger.allow(
            digest.role, "GetItem", "PutItem", "Query", "UpdateItem", audits=True
        )
        ledger.allow(digest.role, "Query", index="by-state")
        secrets.allow(digest.role, [settings.secret_name])
        _allow_look(digest.role, queues, encryption)
        _allow_logs(digest.role, functions)
        if topic is not None:
            _allow_publish(digest.role, topic, encryption)
        _daily(settings).call(self, digest, schedules)

    def _make_topic(self, settings: fleet.Digest, encryption: Encryption) -> sns.Topic:
        topic = make_topic(self, "Mail", encryption=encryption)
        for number, address in enumerate(settings.email, start=1):
            sns.CfnSubscription(
                self,
                f"Reader{number}",
                topic_arn=topic.topic_arn,
                protocol="email",
                endpoint=address,
            )
        return topic


def _daily(settings: fleet.Digest) -> Timer:
    hour, minute = settings.time.split(":")
    return Timer(
        expression=f"cron({int(minute)} {int(hour)} * * ? *)",
        timezone=settings.timezone,
        oldest_request_seconds=_OLDEST_REQUEST_SECONDS,
    )


def _allow_look(
    role: iam.IRole, queues: list[sqs.Queue], encryption: Encryption
) -> None:
    """Let ``role`` read letters and show them again; it deletes none."""
    role.add_to_principal_policy(
        iam.PolicyStatement(
            actions=[
                "sqs:ChangeMessageVisibility",
                "sqs:GetQueueAttributes",
                "sqs:ListMessageMoveTasks",
                "sqs:ReceiveMessage",
            ],
            resources=[queue.queue_arn for queue in queues],
        )
    )
    encryption.allow_receive(role)


def _allow_logs(role: iam.IRole, functions: Functions) -> None:
    """Let ``role`` read what Lambda wrote about our workers, and no other log."""
    workers = [made for name, made in functions.made if name == "worker"]
    if workers:
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["logs:FilterLogEvents"],
                resources=[worker.log_group.log_group_arn for worker in workers],
            )
        )


def _allow_publish(role: iam.IRole, topic: sns.Topic, encryption: Encryption) -> None:
    role.add_to_principal_policy(
        iam.PolicyStatement(actions=["sns:Publish"], resources=[topic.topic_arn])
    )
    encryption.allow_publish(role)
