"""The queue as a worker polls it: one message, hidden for so long, as Lambda has it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from lambdas.shared.adapters.inbox import SqsInbox
from lambdas.shared.errors import Misconfigured
from lambdas.worker.delivery import Message
from tests.fakes.worker import envelope

BODY = envelope()


@pytest.fixture
def url() -> Iterator[str]:
    with mock_aws():
        yield boto3.client("sqs").create_queue(QueueName="triage")["QueueUrl"]


def sent(url: str, times: int = 1) -> None:
    for _ in range(times):
        boto3.client("sqs").send_message(QueueUrl=url, MessageBody=json.dumps(BODY))


def test_message_is_read_as_one_that_lambda_hands_over(url: str) -> None:
    sent(url)

    record = SqsInbox(url).receive(wait_seconds=0, visibility_seconds=90)

    assert record is not None
    message = Message.from_record(record)
    assert message.envelope == BODY
    assert message.receive_count == 1
    assert message.sent_ms > 0


def test_one_message_is_taken_at_a_time(url: str) -> None:
    sent(url, 3)
    inbox = SqsInbox(url)

    assert inbox.receive(wait_seconds=0, visibility_seconds=90) is not None

    counts = boto3.client("sqs").get_queue_attributes(
        QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesNotVisible"]
    )
    assert counts["Attributes"] == {"ApproximateNumberOfMessagesNotVisible": "1"}


def test_message_shows_again_when_it_is_given_back(url: str) -> None:
    sent(url)
    inbox = SqsInbox(url)
    record = inbox.receive(wait_seconds=0, visibility_seconds=90)
    assert record is not None
    assert inbox.receive(wait_seconds=0, visibility_seconds=90) is None

    inbox.hide(record["receiptHandle"], 0)

    again = inbox.receive(wait_seconds=0, visibility_seconds=90)
    assert again is not None
    assert again["attributes"]["ApproximateReceiveCount"] == "2"


def test_deleted_message_is_gone(url: str) -> None:
    sent(url)
    inbox = SqsInbox(url)
    record = inbox.receive(wait_seconds=0, visibility_seconds=0)
    assert record is not None

    inbox.delete(record["receiptHandle"])

    assert inbox.receive(wait_seconds=0, visibility_seconds=0) is None


def test_queue_that_is_not_there_is_ours_to_mend(url: str) -> None:
    with pytest.raises(Misconfigured, match="the queue refused ReceiveMessage"):
        SqsInbox(url + "-else").receive(wait_seconds=0, visibility_seconds=90)
