"""Topics: encrypted, reached by TLS only, and open to our own alarms alone."""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from stacks.encryption import Encryption


def make_topic(scope: Construct, id: str, *, encryption: Encryption) -> sns.Topic:
    """Return a topic that this stack's alarms may publish to."""
    topic = sns.Topic(scope, id, master_key=encryption.key, enforce_ssl=True)
    stack = Stack.of(topic)
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
