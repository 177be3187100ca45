"""What cdk-nag finds and we mean: every exception stands beside what it excuses."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def accept(construct: IConstruct, rule: str, *, because: str) -> None:
    """Acknowledge ``rule`` (``SQS3``, ``IAM5[Resource::...]``) on one construct."""
    Validations.of(construct).acknowledge(
        Acknowledgment(id=f"AwsSolutions-{rule}", reason=because)
    )
