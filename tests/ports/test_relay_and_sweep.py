"""The doorways of relay and sweep, wired as in AWS, over moto."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import boto3
import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from moto import mock_aws

from lambdas.relay import handler as relay_handler
from lambdas.shared.adapters import aws, dynamodb
from lambdas.shared.event import Content, Event
from lambdas.shared.settings import LedgerSettings, RelaySettings, SweepSettings
from lambdas.sweep import handler as sweep_handler
from tests.fakes.moto_ledger import BUCKET, TABLE, make_table

NOON = datetime.fromisoformat("2026-11-29T12:00:00Z")
_FLEET = """
    [sources.github]
    [agents.triage]
    run = "agents.triage:run"
    on = [{ source = "github", kind = "push" }]
"""


@dataclass
class Context:
    """What Lambda tells a function of its invocation."""

    function_name: str = "bellhop"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:f"
    aws_request_id: str = "52fdfc07-2182-454f-963f-5f0f9a621d72"

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


CONTEXT = cast("LambdaContext", Context())


@dataclass(frozen=True)
class Account:
    """An account with the fleet's things in it."""

    queue: str
    parked: str
    clock_file: Path

    @property
    def table(self) -> dynamodb.DynamoTable:
        return dynamodb.table(LedgerSettings(ledger_table=TABLE, payload_bucket=BUCKET))

    def accept(self, event_id: str, kind: str = "push") -> None:
        settings = LedgerSettings(ledger_table=TABLE, payload_bucket=BUCKET)
        event = Event(
            id=event_id,
            source="github",
            kind=kind,
            occurred_at=NOON,
            received_at=NOON,
            content=Content(b'{"a": 1}'),
            facts={"action": "opened"},
        )
        assert dynamodb.ledger(settings, ledger_days=45).accept(event)

    def records(self) -> list[dict[str, Any]]:
        """Return the table as Lambda hands over its stream."""
        items = boto3.client("dynamodb").scan(TableName=TABLE)["Items"]
        for value in (value for item in items for value in item.values()):
            if "B" in value:
                value["B"] = base64.b64encode(value["B"])
        return [
            {"eventName": "INSERT", "dynamodb": {"NewImage": item}} for item in items
        ]

    def received(self, url: str) -> list[dict[str, Any]]:
        answer = boto3.client("sqs").receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0
        )
        return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    fleet, clock_file = tmp_path / "fleet.toml", tmp_path / "clock"
    fleet.write_text(_FLEET)
    clock_file.write_text(NOON.isoformat())
    with mock_aws():
        _forget()
        make_table()
        events, sqs = boto3.client("events"), boto3.client("sqs")
        queue = sqs.create_queue(QueueName="triage")["QueueUrl"]
        parked = sqs.create_queue(QueueName="parked")["QueueUrl"]
        events.create_event_bus(Name="fleet")
        events.put_rule(
            Name="triage",
            EventBusName="fleet",
            EventPattern='{"source":["bellhop.github"],"detail-type":["push"]}',
        )
        target = {"Id": "q", "Arn": "arn:aws:sqs:eu-central-1:123456789012:triage"}
        events.put_targets(
            Rule="triage",
            EventBusName="fleet",
            Targets=[cast("Any", target)],
        )
        relay = RelaySettings(
            ledger_table=TABLE,
            payload_bucket=BUCKET,
            bus_name="fleet",
            parked_queue_url=parked,
        )
        sweep = SweepSettings(
            ledger_table=TABLE,
            payload_bucket=BUCKET,
            bus_name="fleet",
            queue_urls=json.dumps([queue]),
        )
        variables = relay.to_env() | sweep.to_env()
        variables |= {
            "BELLHOP_FLEET": str(fleet),
            "BELLHOP_CLOCK_FILE": str(clock_file),
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield Account(queue, parked, clock_file)
        _forget()


def _forget() -> None:
    aws.client.cache_clear()
    relay_handler._relay.cache_clear()
    sweep_handler._sweep.cache_clear()


def test_an_accepted_event_reaches_its_agents_queue(account: Account) -> None:
    account.accept("github:1")

    relay_handler.handle({"Records": account.records()}, CONTEXT)

    (envelope,) = account.received(account.queue)
    assert envelope["source"] == "bellhop.github"
    assert envelope["detail-type"] == "push"
    assert envelope["detail"]["event_id"] == "github:1"
    assert envelope["detail"]["facts"] == {"action": "opened"}


def test_unheard_and_unpublishable_events_are_told(account: Account) -> None:
    account.accept("github:1", kind="star")
    account.accept("github:2", kind="k" * 200)

    relay_handler.handle({"Records": account.records()}, CONTEXT)

    assert account.table.get("github:1", "unheard") is not None
    assert account.received(account.queue) == []
    (letter,) = account.received(account.parked)
    assert letter["event_id"] == "github:2"


def test_what_the_relay_never_saw_is_swept_up(account: Account) -> None:
    sweep_handler.handle({}, CONTEXT)
    account.accept("github:lost")
    account.accept("github:begun")
    account.accept("github:star", kind="star")
    account.table.put({"pk": "github:begun", "sk": "run#triage", "state": "FAILED"})

    account.clock_file.write_text((NOON + timedelta(hours=1)).isoformat())
    tally = sweep_handler.handle({}, CONTEXT)

    (envelope,) = account.received(account.queue)
    assert envelope["detail"]["event_id"] == "github:lost"
    assert account.table.get("github:star", "unheard") is not None
    assert (tally["read"], tally["relayed"], tally["unheard"]) == (3, 1, 1)


def test_a_second_sweep_finds_nothing_left(account: Account) -> None:
    sweep_handler.handle({}, CONTEXT)
    account.accept("github:lost")
    account.clock_file.write_text((NOON + timedelta(hours=1)).isoformat())
    sweep_handler.handle({}, CONTEXT)

    tally = sweep_handler.handle({}, CONTEXT)

    assert tally["windows"] == 0
    assert len(account.received(account.queue)) == 1


def test_a_queue_that_is_not_empty_keeps_the_window_open(account: Account) -> None:
    sweep_handler.handle({}, CONTEXT)
    account.accept("github:1")
    relay_handler.handle({"Records": account.records()}, CONTEXT)
    account.clock_file.write_text((NOON + timedelta(hours=1)).isoformat())

    tally = sweep_handler.handle({}, CONTEXT)

    assert (tally["waiting"], tally["relayed"]) == (1, 0)
    assert len(account.received(account.queue)) == 1
