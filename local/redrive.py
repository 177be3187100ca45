"""A redrive as the SQS console does it, which the local engine cannot by itself.

``StartMessageMoveTask`` sends each dead letter to its queue as a new message:
the same body and attributes, a new message id, a receive count that starts
again at 1 (AWS: "redriven messages are considered new messages with a new
messageID and enqueueTime").
"""

from __future__ import annotations

from typing import Any

from local.stack import QueueOf


def redrive(sqs: Any, queue: QueueOf) -> list[tuple[str, str]]:
    """Move every dead letter back to its queue; returns (old id, new id) of each."""
    moved = []
    while letters := sqs.receive_message(
        QueueUrl=queue.dlq_url,
        MaxNumberOfMessages=10,
        MessageAttributeNames=["All"],
    ).get("Messages", []):
        for letter in letters:
            sent = sqs.send_message(
                QueueUrl=queue.url,
                MessageBody=letter["Body"],
                MessageAttributes=letter.get("MessageAttributes", {}),
            )
            sqs.delete_message(
                QueueUrl=queue.dlq_url, ReceiptHandle=letter["ReceiptHandle"]
            )
            moved.append((letter["MessageId"], sent["MessageId"]))
    return moved
