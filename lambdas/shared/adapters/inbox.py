"""An agent's queue as a worker polls it: one message at a time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from botocore.config import Config
from botocore.session import Session

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.failures import told_apart
from lambdas.shared.adapters.sqs import SqsVisibility

if TYPE_CHECKING:
    from mypy_boto3_sqs.literals import MessageSystemAttributeNameType

# What Lambda tells of each message, as far as the runner reads it.
_TOLD: tuple[MessageSystemAttributeNameType, ...] = (
    "ApproximateFirstReceiveTimestamp",
    "ApproximateReceiveCount",
    "SentTimestamp",
)

# SQS answers a poll after 20 seconds at most. Whoever polls pauses by itself: a poll
# that was repeated below it would hide a message that nobody looks at.
_PATIENCE: Any = {"total_max_attempts": 1}


@functools.cache
def _polling() -> Any:
    config = Config(
        connect_timeout=3,
        read_timeout=30,
        retries=_PATIENCE,
        user_agent_extra="bellhop",
    )
    return Session().create_client("sqs", config=config)


class SqsInbox(SqsVisibility):
    """A :class:`lambdas.worker.polling.happenings.Inbox` on one queue."""

    def receive(
        self, *, wait_seconds: int, visibility_seconds: int
    ) -> dict[str, Any] | None:
        """Wait so long for a message; return it in the form of Lambda's records."""
        with told_apart("the queue"):
            answer = _polling().receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=1,
                WaitTimeSeconds=wait_seconds,
                VisibilityTimeout=visibility_seconds,
                MessageSystemAttributeNames=_TOLD,
            )
        for message in answer.get("Messages", []):
            return {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": dict(message["Attributes"]),
            }
        return None

    def delete(self, receipt: str) -> None:
        """Delete what was received so."""
        with told_apart("the queue"):
            aws.client("sqs").delete_message(QueueUrl=self._url, ReceiptHandle=receipt)
