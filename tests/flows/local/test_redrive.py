"""A redrive moves every dead letter as the console would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from local.redrive import redrive
from local.stack import QueueOf


@pytest.fixture
def sqs() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("sqs")


def queue_pair(sqs: Any) -> QueueOf:
    def made(name: str) -> tuple[str, str]:
        url = sqs.create_queue(QueueName=name)["QueueUrl"]
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return url, found["Attributes"]["QueueArn"]

    (url, arn), (dlq_url, dlq_arn) = made("queue"), made("dead-letters")
    return QueueOf(url=url, arn=arn, dlq_url=dlq_url, dlq_arn=dlq_arn)


def received(sqs: Any, url: str) -> list[Any]:
    messages: list[Any] = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        AttributeNames=["ApproximateReceiveCount"],
        MessageAttributeNames=["All"],
    ).get("Messages", [])
    return messages


def test_letter_keeps_body_and_attributes_and_starts_anew(sqs: Any) -> None:
    queue = queue_pair(sqs)
    attributes = {"trace": {"DataType": "String", "StringValue": "t-1"}}
    dead = sqs.send_message(
        QueueUrl=queue.dlq_url, MessageBody="body", MessageAttributes=attributes
    )["MessageId"]

    moved = redrive(sqs, queue)

    (message,) = received(sqs, queue.url)
    assert moved == [(dead, message["MessageId"])]
    assert message["MessageId"] != dead
    assert message["Body"] == "body"
    assert message["MessageAttributes"] == attributes
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    assert received(sqs, queue.dlq_url) == []


def test_more_letters_than_one_call_returns_are_all_moved(sqs: Any) -> None:
    queue = queue_pair(sqs)
    for number in range(23):
        sqs.send_message(QueueUrl=queue.dlq_url, MessageBody=str(number))

    assert len(redrive(sqs, queue)) == 23
    assert redrive(sqs, queue) == []
