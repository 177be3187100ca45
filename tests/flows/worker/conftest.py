"""A worker deployed on moto: its environment, its fleet, its queue, its ledger."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from moto import mock_aws

from lambdas.shared import clock
from lambdas.shared.adapters import aws, dynamodb
from lambdas.shared.event import Content, Event
from lambdas.shared.ledger import TableLedger
from lambdas.shared.settings import WorkerSettings
from lambdas.worker import handler
from tests.fakes.moto_ledger import BUCKET, TABLE, make_bucket, make_table
from tests.fakes.worker import ISSUE, envelope

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


class Deployed:
    """One worker function, its queue and its dead letters, as SQS drives them."""

    def __init__(self, settings: WorkerSettings, dead_letters_url: str) -> None:
        self.settings = settings
        self.dead_letters_url = dead_letters_url
        self.ledger: TableLedger = dynamodb.ledger(settings, ledger_days=45)

    def send(self, body: Any) -> str:
        text = body if isinstance(body, str) else json.dumps(body)
        sent = aws.client("sqs").send_message(
            QueueUrl=self.settings.queue_url, MessageBody=text
        )
        return str(sent["MessageId"])

    def accept_and_send(self, delivery_id: str, payload: Any = None) -> str:
        """Accept an event of now and put it on the queue, as the relay would."""
        now = clock.now()
        event: Event = replace(
            ISSUE,
            id=f"github:{delivery_id}",
            received_at=now,
            content=Content(json.dumps(payload).encode(), "application/json"),
        )
        self.ledger.accept(event)
        return self.send(envelope(event))

    def poll(self, left_ms: int = 3_000) -> tuple[list[str], list[str]]:
        """Do what Lambda's mapping does once; return what was received, and failed."""
        sqs = aws.client("sqs")
        url = self.settings.queue_url
        received = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
        ).get("Messages", [])
        if not received:
            return [], []
        records = {"Records": [_record(message) for message in received]}
        answer = handler.handle(records, cast("LambdaContext", Context(left_ms)))
        failed = [str(each["itemIdentifier"]) for each in answer["batchItemFailures"]]
        for message in received:
            if message["MessageId"] not in failed:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return [message["MessageId"] for message in received], failed

    @property
    def dead_letters(self) -> int:
        told = aws.client("sqs").get_queue_attributes(
            QueueUrl=self.dead_letters_url,
            AttributeNames=["ApproximateNumberOfMessages"],
        )
        return int(told["Attributes"]["ApproximateNumberOfMessages"])


class Context:
    """A Lambda context: what Powertools reads of it."""

    function_name = memory_limit_in_mb = "worker"
    invoked_function_arn = aws_request_id = "worker"

    def __init__(self, left_ms: int) -> None:
        self._left_ms = left_ms

    def get_remaining_time_in_millis(self) -> int:
        return self._left_ms


def _record(message: Any) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:worker",
        "awsRegion": "eu-central-1",
    }


Deploy = Callable[..., Deployed]


@pytest.fixture
def deploy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deploy]:
    """Return what deploys an agent whose module may be written here and now."""

    def make(agent: str, code: str | None = None, more: str = "") -> Deployed:
        if code is not None:
            (tmp_path / f"{agent}.py").write_text(textwrap.dedent(code))
            monkeypatch.syspath_prepend(tmp_path)
        fleet = tmp_path / "fleet.toml"
        run = f"{agent}:run" if code is not None else f"agents.{agent}:run"
        fleet.write_text(
            f'[sources.github]\n[agents.worker]\nrun = "{run}"\ntimeout_seconds = 3\n'
            'max_receives = 3\nbatch_size = 10\non = [{ source = "github" }]\n'
            f"backoff_max_seconds = 2\neverything = true\n{more}"
        )
        settings = WorkerSettings(
            agent_name="worker",
            queue_url=_queue("worker", dead_letters=_queue("worker-dlq")),
            ledger_table=TABLE,
            payload_bucket=BUCKET,
        )
        for name, value in settings.to_env().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("BELLHOP_FLEET", str(fleet))
        handler._worker.cache_clear()
        return Deployed(settings, _queue("worker-dlq"))

    with mock_aws():
        make_table()
        make_bucket()
        yield make
    handler._worker.cache_clear()


def _queue(name: str, dead_letters: str | None = None) -> str:
    sqs = aws.client("sqs")
    attributes = {"VisibilityTimeout": "18"}
    if dead_letters is not None:
        arn = sqs.get_queue_attributes(QueueUrl=dead_letters, AttributeNames=["All"])
        attributes["RedrivePolicy"] = json.dumps(
            {
                "deadLetterTargetArn": arn["Attributes"]["QueueArn"],
                "maxReceiveCount": 3,
            }
        )
    return str(sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])
