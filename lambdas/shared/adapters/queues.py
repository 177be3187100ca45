"""Queues seen from outside: how much waits in them, and the one for what is parked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.failures import told_apart

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

_COUNTS: tuple[QueueAttributeNameType, ...] = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


def _client() -> Any:
    return aws.client("sqs")


class SqsParked:
    """A :class:`lambdas.relay.relay.Parked` in a queue."""

    def __init__(self, url: str, client: Callable[[], SQSClient] = _client) -> None:
        """Park in the queue at ``url``."""
        self._url = url
        self._client = client

    def park(self, event_id: str, reason: str) -> None:
        """See the port."""
        body = json.dumps({"event_id": event_id, "reason": reason})
        with told_apart("the queue of parked events"):
            self._client().send_message(QueueUrl=self._url, MessageBody=body)


class SqsBacklogs:
    """A :class:`lambdas.sweep.sweep.Backlogs` over the agents' queues."""

    def __init__(
        self, urls: Mapping[str, str], client: Callable[[], SQSClient] = _client
    ) -> None:
        """Know each agent's queue by its URL."""
        self._urls = urls
        self._client = client

    def waiting(self, agent: str) -> int:
        """See the port; received and delayed messages count too."""
        with told_apart(f"the queue of agent {agent!r}"):
            answer = self._client().get_queue_attributes(
                QueueUrl=self._urls[agent], AttributeNames=list(_COUNTS)
            )
        attributes = answer["Attributes"]
        return sum(int(attributes.get(name, 0)) for name in _COUNTS)
