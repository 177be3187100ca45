"""A failure queue in SQS, as the digest and the command line read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import ClientError

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.failures import code, told_apart
from lambdas.shared.observe import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_COUNTS: Any = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
# An engine that knows no move tasks runs none, and may not even know the action.
_UNKNOWN = frozenset(
    {
        *("AccessDenied", "AccessDeniedException", "InvalidAction"),
        *("UnknownOperation", "UnknownOperationException", "UnsupportedOperation"),
    }
)


class Held(Protocol):
    """A message that was received."""

    @property
    def receipt(self) -> str:
        """What SQS wants to hear when it is shown again or deleted."""
        ...


def _client() -> Any:
    return aws.client("sqs")


class SqsLetterbox:
    """The letters of one queue: looked at, and shown again."""

    def __init__(self, url: str, client: Callable[[], SQSClient] = _client) -> None:
        """Read the queue at ``url``."""
        self.url = url
        self._client = client
        self._what = f"the queue {url.rpartition('/')[2]}"

    def waiting(self) -> int:
        """Return how many letters it holds, the hidden ones included."""
        with told_apart(self._what):
            answer = self._client().get_queue_attributes(
                QueueUrl=self.url, AttributeNames=list(_COUNTS)
            )
        return sum(int(answer["Attributes"].get(name, 0)) for name in _COUNTS)

    def arn(self) -> str:
        """Return its ARN."""
        with told_apart(self._what):
            answer = self._client().get_queue_attributes(
                QueueUrl=self.url, AttributeNames=["QueueArn"]
            )
        return answer["Attributes"]["QueueArn"]

    def is_moving(self) -> bool:
        """Whether a redrive of the console moves its letters at this moment."""
        with told_apart(self._what):
            try:
                answer = self._client().list_message_move_tasks(SourceArn=self.arn())
            except ClientError as error:
                if code(error).rpartition(".")[2] not in _UNKNOWN:
                    raise
                # Not knowing is no reason to know nothing of the letters.
                logger.warning("move tasks not listed", reason=str(error))
                return False
        tasks = answer.get("Results", [])
        return any(task.get("Status") in {"RUNNING", "CANCELLING"} for task in tasks)

    def receive_some(self, hide_seconds: int) -> list[Mapping[str, Any]]:
        """Return up to ten messages as SQS gives them, hidden for so long."""
        with told_apart(self._what):
            answer = self._client().receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=10,
                VisibilityTimeout=hide_seconds,
                AttributeNames=["SentTimestamp"],
                MessageAttributeNames=["All"],
            )
        found: list[Any] = answer.get("Messages", [])
        return found

    def release(self, letters: Sequence[Held]) -> None:
        """Show letters again at once; one that was deleted meanwhile is no loss."""
        for start in range(0, len(letters), 10):
            entries: Any = [
                {
                    "Id": str(number),
                    "ReceiptHandle": letter.receipt,
                    "VisibilityTimeout": 0,
                }
                for number, letter in enumerate(letters[start : start + 10])
            ]
            with told_apart(self._what):
                self._client().change_message_visibility_batch(
                    QueueUrl=self.url, Entries=entries
                )

    def delete(self, receipt: str) -> None:
        """Delete a letter that was received."""
        with told_apart(self._what):
            self._client().delete_message(QueueUrl=self.url, ReceiptHandle=receipt)


def attributes_of(message: Mapping[str, Any]) -> dict[str, str]:
    """Return a message's own attributes that are text."""
    told = message.get("MessageAttributes", {})
    return {
        name: value["StringValue"]
        for name, value in told.items()
        if "StringValue" in value
    }
