"""The bus and the queues, as moto plays them and as they fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.eventbridge import EventBridge
from lambdas.shared.adapters.queues import SqsBacklogs, SqsParked
from lambdas.shared.bus import Entry, Refusal
from lambdas.shared.errors import Misconfigured, Unavailable


def entry(name: str, **detail: Any) -> Entry:
    return Entry(
        event_id=f"github:{name}",
        source="bellhop.github",
        kind="push",
        detail={"event_id": f"github:{name}", **detail},
    )


@pytest.fixture
def queue() -> Iterator[str]:
    """A queue that hears every push on the bus ``fleet``."""
    with mock_aws():
        aws.client.cache_clear()
        events, sqs = boto3.client("events"), boto3.client("sqs")
        url = sqs.create_queue(QueueName="triage")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        events.create_event_bus(Name="fleet")
        pattern = {"source": ["bellhop.github"], "detail-type": ["push"]}
        events.put_rule(
            Name="triage", EventBusName="fleet", EventPattern=json.dumps(pattern)
        )
        events.put_targets(
            Rule="triage",
            EventBusName="fleet",
            Targets=[{"Id": "queue", "Arn": arn["Attributes"]["QueueArn"]}],
        )
        yield url
        aws.client.cache_clear()


def received(url: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        answer = boto3.client("sqs").receive_message(
            QueueUrl=url, MaxNumberOfMessages=10
        )
        if not answer.get("Messages"):
            return found
        found += [json.loads(message["Body"]) for message in answer["Messages"]]


@pytest.mark.parametrize("count", [1, 10, 25])
def test_every_entry_reaches_the_queue(queue: str, count: int) -> None:
    entries = [entry(str(n), facts={"text": "é\x00\u2028"}) for n in range(count)]

    assert EventBridge("fleet").publish(entries) == []

    envelopes = received(queue)
    assert [e["detail-type"] for e in envelopes] == ["push"] * count
    assert sorted(e["detail"]["event_id"] for e in envelopes) == sorted(
        e.event_id for e in entries
    )
    assert all(e["detail"]["facts"] == {"text": "é\x00\u2028"} for e in envelopes)


def test_waiting_counts_hidden_and_delayed_messages(queue: str) -> None:
    sqs = boto3.client("sqs")
    backlogs = SqsBacklogs({"triage": queue})
    assert backlogs.waiting("triage") == 0

    sqs.send_message(QueueUrl=queue, MessageBody="hidden")
    sqs.receive_message(QueueUrl=queue)
    sqs.send_message(QueueUrl=queue, MessageBody="visible")
    sqs.send_message(QueueUrl=queue, MessageBody="delayed", DelaySeconds=60)

    assert backlogs.waiting("triage") == 3


def test_a_parked_event_is_kept_with_its_reason(queue: str) -> None:
    SqsParked(queue).park("github:1", "its kind is empty")

    assert received(queue) == [{"event_id": "github:1", "reason": "its kind is empty"}]


def test_a_missing_queue_is_the_operators(queue: str) -> None:
    with pytest.raises(Misconfigured, match="the queue of parked events refused"):
        SqsParked(f"{queue}-gone").park("github:1", "x")


class ScriptedEvents:
    """EventBridge's client; each answer of ``script`` is given or raised once.

    A list holds an error code, or None, for each entry; afterwards all is taken.
    """

    def __init__(self, script: list[list[str | None] | Exception]) -> None:
        self.script = script
        self.taken: list[str] = []
        self.sizes: list[int] = []

    def put_events(self, Entries: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        self.sizes.append(len(Entries))
        codes = self.script.pop(0) if self.script else [None] * len(Entries)
        if isinstance(codes, Exception):
            raise codes
        results: list[dict[str, str]] = []
        for given, code in zip(Entries, codes, strict=True):
            if code is None:
                self.taken.append(json.loads(given["Detail"])["event_id"])
            results.append(
                {"ErrorCode": code, "ErrorMessage": "no"} if code else {"EventId": "e"}
            )
        failed = sum(1 for code in codes if code)
        return {"FailedEntryCount": failed, "Entries": results}


def refusal(code: str, status: int = 400) -> ClientError:
    answer: Any = {
        "Error": {"Code": code, "Message": "no"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, "PutEvents")


def bus(events: ScriptedEvents) -> EventBridge:
    client: Any = events
    return EventBridge("fleet", lambda: client, sleep=lambda _: None)


def test_only_the_entries_that_were_not_taken_are_tried_again() -> None:
    events = ScriptedEvents([[None, "ThrottlingException", None], ["InternalFailure"]])

    assert bus(events).publish([entry(n) for n in "123"]) == []

    assert sorted(events.taken) == ["github:1", "github:2", "github:3"]
    assert events.sizes == [3, 1, 1]


@pytest.mark.parametrize("code", ["ThrottlingException", "InternalFailure", "NewWord"])
def test_what_may_pass_is_unavailable_in_the_end(code: str) -> None:
    events = ScriptedEvents([[None, code], [code], [code]])

    with pytest.raises(Unavailable, match=code):
        bus(events).publish([entry("1"), entry("2")])


@pytest.mark.parametrize("code", ["MalformedDetail", "InvalidArgument"])
def test_what_an_entry_is_to_blame_for_is_refused_for_good(code: str) -> None:
    events = ScriptedEvents([[None, code, None]])

    refused = bus(events).publish([entry(n) for n in "123"])

    assert refused == [Refusal(event_id="github:2", reason=f"{code}: no")]


@pytest.mark.parametrize(
    "code", ["AccessDeniedException", "NotAuthorizedForSourceException"]
)
def test_our_own_fault_is_never_an_events(code: str) -> None:
    events = ScriptedEvents([[None, code]])

    with pytest.raises(Misconfigured, match=code):
        bus(events).publish([entry("1"), entry("2")])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (refusal("ResourceNotFoundException"), Misconfigured),
        (refusal("AccessDeniedException"), Misconfigured),
        (refusal("ThrottlingException"), Unavailable),
        (refusal("InternalException", 500), Unavailable),
    ],
)
def test_a_request_that_is_refused_whole_gives_no_event_up(
    error: ClientError, expected: type[Exception]
) -> None:
    with pytest.raises(expected):
        bus(ScriptedEvents([error])).publish([entry("1"), entry("2")])


def test_one_entry_that_spoils_its_request_is_found() -> None:
    spoiled = refusal("ValidationException")
    events = ScriptedEvents([spoiled, [None], spoiled, [None]])

    refused = bus(events).publish([entry(n) for n in "123"])

    assert [each.event_id for each in refused] == ["github:2"]
    assert events.taken == ["github:1", "github:3"]


def test_a_failing_request_does_not_keep_the_others_back() -> None:
    events = ScriptedEvents([refusal("ThrottlingException")])

    with pytest.raises(Unavailable):
        bus(events).publish([entry(str(n)) for n in range(30)])

    assert len(events.taken) == 20


def test_large_entries_travel_in_requests_of_less_than_a_megabyte() -> None:
    events = ScriptedEvents([])

    bus(events).publish([entry(str(n), thread="t" * 300_000) for n in range(5)])

    assert sorted(events.sizes) == [1, 2, 2]
