"""One queue, as its worker uses it: what is hidden, and what is sent again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.failures import told_apart

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


def _client() -> Any:
    return aws.client("sqs")


class SqsSender:
    """Puts messages on one queue; calling it sends one."""

    def __init__(self, url: str, client: Callable[[], SQSClient] = _client) -> None:
        """Send to the queue at ``url``."""
        self._url = url
        self._client = client

    def __call__(self, body: str) -> None:
        """Send ``body``; twice is two messages.

        Raises:
            Unavailable, Misconfigured: it was not taken, or nobody knows.
        """
        with told_apart("the queue"):
            self._client().send_message(QueueUrl=self._url, MessageBody=body)


class SqsVisibility:
    """A :class:`lambdas.worker.delivery.Visibility` on one queue."""

    def __init__(self, url: str, client: Callable[[], SQSClient] = _client) -> None:
        """Speak of messages of the queue at ``url``."""
        self._url = url
        self._client = client

    def hide(self, receipt: str, seconds: int) -> None:
        """Show the message again ``seconds`` from now; 0 is at once."""
        with told_apart("the queue"):
            self._client().change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=receipt, VisibilityTimeout=seconds
            )
