"""The digest: the dead letters, told once a day at a local time."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lambdas.shared import fleet
from lambdas.shared.settings import DigestSettings
from stacks import nag
from stacks.encryption import Encryption
from stacks.function import Function, Functions
from stacks.ledger import Ledger
from stacks.queues import FailureQueues
from stacks.secrets import Secrets
from stacks.sweep import listed
from stacks.timer import ScheduleGroup, Timer

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
        """Make the digest, its schedule, and the alarm for when it fails."""
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
        ledger.allow(digest.role, "GetItem", "PutItem", "Query", "UpdateItem")
        ledger.allow(digest.role, "Query", index="by-state")
        secrets.allow(digest.role, [settings.secret_name])
        _allow_look(digest.role, queues, encryption)
        self._allow_logs(digest.role)
        if topic is not None:
            _allow_publish(digest.role, topic, encryption)
        hour, minute = settings.time.split(":")
        timer = Timer(
            expression=f"cron({int(minute)} {int(hour)} * * ? *)",
            timezone=settings.timezone,
            oldest_request_seconds=_OLDEST_REQUEST_SECONDS,
        )
        timer.call(self, digest, schedules)
        self._make_alarm(digest, topic)

    def _allow_logs(self, role: iam.Role) -> None:
        """Let ``role`` read what Lambda wrote about our workers, and no other log."""
        stack = Stack.of(self)
        at = f"{stack.region}:{stack.account}"
        name = f"log-group:{stack.stack_name}-Workers*"
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:FilterLogEvents"],
                resources=[f"arn:{stack.partition}:logs:{at}:{name}"],
            )
        )
        nag.accept(
            role,
            "IAM5[Resource::arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:"
            f"{name}]",
            because="One log group per agent; all of their names would not fit one"
            " policy. The stack's own name bounds it.",
        )

    def _make_topic(self, settings: fleet.Digest, encryption: Encryption) -> sns.Topic:
        topic = sns.Topic(self, "Mail", master_key=encryption.key, enforce_ssl=True)
        for number, address in enumerate(settings.email, start=1):
            sns.CfnSubscription(
                self,
                f"Reader{number}",
                topic_arn=topic.topic_arn,
                protocol="email",
                endpoint=address,
            )
        stack = Stack.of(self)
        at = f"{stack.region}:{stack.account}"
        alarms = f"cloudwatch:{at}:alarm:{stack.stack_name}-*"
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="Alarms",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": f"arn:{stack.partition}:{alarms}"},
                },
            )
        )
        return topic

    def _make_alarm(self, digest: Function, topic: sns.Topic | None) -> None:
        """A digest that cannot be told must be told otherwise."""
        cloudwatch.CfnAlarm(
            self,
            "Failed",
            alarm_description="The digest of dead letters was not told: its log says"
            " why, its call is kept in the queue of asynchronous failures"
            " (bellhop replay --queue async).",
            namespace="AWS/Lambda",
            metric_name="Errors",
            dimensions=[
                cloudwatch.CfnAlarm.DimensionProperty(
                    name="FunctionName", value=digest.function.function_name
                )
            ],
            statistic="Sum",
            period=round(Duration.minutes(5).to_seconds()),
            evaluation_periods=1,
            threshold=1,
            comparison_operator="GreaterThanOrEqualToThreshold",
            treat_missing_data="notBreaching",
            alarm_actions=None if topic is None else [topic.topic_arn],
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


def _allow_publish(role: iam.IRole, topic: sns.Topic, encryption: Encryption) -> None:
    role.add_to_principal_policy(
        iam.PolicyStatement(actions=["sns:Publish"], resources=[topic.topic_arn])
    )
    encryption.allow_publish(role)
