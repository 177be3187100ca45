"""Mail and bus, against moto; and what a failed AWS call means for an effect."""

from __future__ import annotations

import json
import socket
import threading
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)
from botocore.stub import Stubber
from moto import mock_aws
from moto.ses.models import ses_backends

from agents.effects import bus, ses
from lambdas.shared.adapters import aws
from lambdas.shared.adapters.effects import outcome
from lambdas.shared.errors import (
    GiveUp,
    InDoubt,
    Misconfigured,
    OutcomeUnknown,
    RetryLater,
)
from lambdas.shared.event import Event
from lambdas.worker.delivery import Message
from tests.fakes.world import OPERATION, Attempt

REGION = "eu-central-1"


@pytest.fixture(autouse=True)
def _fresh_clients() -> Iterator[None]:
    aws.client.cache_clear()
    aws.once.cache_clear()
    yield
    aws.client.cache_clear()
    aws.once.cache_clear()


@pytest.fixture
def cloud() -> Iterator[None]:
    with mock_aws():
        yield


@pytest.mark.usefixtures("cloud")
def test_mail_is_sent_from_a_verified_address(run: Attempt) -> None:
    boto3.client("sesv2").create_email_identity(EmailIdentity="bot@shop.example")
    asked: list[dict[str, Any]] = []
    aws.once("sesv2").meta.events.register(
        "provide-client-params.sesv2.SendEmail",
        lambda params, **_: asked.append(params),
    )

    sent = run.send(
        ses.mail,
        "ada@example.com",
        "Hello",
        "text",
        sender="bot@shop.example",
        html="<p>text</p>",
        reply_to="desk@shop.example",
    )

    backend = ses_backends["123456789012"][REGION]
    assert backend.sent_message_count == 1
    assert sent["id"] == backend.sent_messages[0].id
    told = {"Name": "X-Bellhop-Operation", "Value": OPERATION}
    assert asked[0]["Content"]["Simple"]["Headers"] == [told]


@pytest.mark.usefixtures("cloud")
def test_mail_from_an_unverified_address_gives_up(run: Attempt) -> None:
    with pytest.raises(GiveUp, match="ses refused SendEmail") as raised:
        run.send(ses.mail, "ada@example.com", "Hello", "x", sender="no@shop.example")

    assert raised.value.downstream == "ses"


def test_mail_in_doubt_is_not_sent_again(run: Attempt) -> None:
    with pytest.raises(InDoubt, match="bellhop resolve shop:1 tell"):
        run.send_again(ses.mail, "ada@example.com", "Hi", "x", sender="a@b.example")


def test_mail_without_an_answer_is_asked_for_once(
    run: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """botocore's own retries would have sent it three times."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def swallow() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                with caller:
                    asked.append(caller.recv(65536))

        threading.Thread(target=swallow, daemon=True).start()
        port = server.getsockname()[1]
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")

        with pytest.raises(OutcomeUnknown, match="ses broke off"):
            run.send(ses.mail, "ada@example.com", "Hello", "x", sender="a@b.example")
        server.shutdown(socket.SHUT_RDWR)

    assert len(asked) == 1
    assert b"/v2/email/outbound-emails" in asked[0]


def heard(entry: dict[str, Any], **envelope: Any) -> Event:
    """Return what the worker of an agent that hears ``entry`` reads."""
    told = {
        "id": str(uuid.uuid4()),
        "source": entry["Source"],
        "detail-type": entry["DetailType"],
        "detail": json.loads(entry["Detail"]),
        "time": "2026-11-29T12:00:00Z",
        **envelope,
    }
    times = {"SentTimestamp": "1", "ApproximateReceiveCount": "1"}
    record = {
        "messageId": "m",
        "receiptHandle": "r",
        "attributes": times,
        "body": json.dumps(told),
    }
    return Message.from_record(record).aws_event(datetime.now(UTC))


@pytest.mark.usefixtures("cloud")
def test_event_put_twice_is_heard_as_one(run: Attempt) -> None:
    put: list[dict[str, Any]] = []
    aws.client("events").meta.events.register(
        "provide-client-params.events.PutEvents",
        lambda params, **_: put.extend(params["Entries"]),
    )

    first = run.send(bus.put, "billing", "invoice.paid", {"amount": 5})
    second = run.send_again(bus.put, "billing", "invoice.paid", {"amount": 5})

    assert first["id"] != second["id"]
    events = [heard(entry) for entry in put]
    assert [event.id for event in events] == [f"aws:billing:{OPERATION}"] * 2
    assert [event.kind for event in events] == ["invoice.paid"] * 2
    assert events[0].payload["detail"]["amount"] == 5


@pytest.mark.parametrize(
    ("source", "detail"),
    [
        ("billing", {"operation_id": OPERATION}),
        ("billing", {"bellhop": OPERATION}),
        ("aws.s3", {"bellhop": {"operation_id": OPERATION}}),
    ],
)
def test_event_that_no_effect_put_keeps_the_id_of_the_bus(
    source: str, detail: dict[str, Any]
) -> None:
    entry = {"Source": source, "DetailType": "x", "Detail": json.dumps(detail)}

    assert heard(entry, id="e-1").id == f"aws:{source}:e-1"


@pytest.mark.parametrize("source", ["aws.s3", "bellhop.github"])
def test_event_cannot_pretend_to_come_from_aws_or_the_fleet(
    source: str, run: Attempt
) -> None:
    with pytest.raises(GiveUp, match="is taken"):
        run.send(bus.put, source, "x", {})


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        ("ThrottlingException", RetryLater),
        ("InternalFailure", OutcomeUnknown),
        ("NotAuthorizedForSourceException", GiveUp),
    ],
)
def test_refusal_of_the_one_entry_is_heard(
    code: str, meaning: type[Exception], run: Attempt
) -> None:
    stub = Stubber(aws.client("events"))
    entries = [{"ErrorCode": code, "ErrorMessage": "no"}]
    stub.add_response("put_events", {"FailedEntryCount": 1, "Entries": entries})
    stub.activate()

    with pytest.raises(meaning, match=code):
        run.send(bus.put, "billing", "x", {})


def refusal(code: str, status: int) -> ClientError:
    return ClientError(
        {
            "Error": {"Code": code, "Message": "no"},
            "ResponseMetadata": {
                "HTTPStatusCode": status,
                "RequestId": "",
                "HostId": "",
                "HTTPHeaders": {},
                "RetryAttempts": 0,
            },
        },
        "SendEmail",
    )


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (refusal("TooManyRequestsException", 429), RetryLater),
        (refusal("ServiceUnavailable", 503), RetryLater),
        (refusal("InternalError", 500), OutcomeUnknown),
        (refusal("MessageRejected", 400), GiveUp),
        (refusal("AccessDeniedException", 403), GiveUp),
        (EndpointConnectionError(endpoint_url="https://x"), RetryLater),
        (ReadTimeoutError(endpoint_url="https://x"), OutcomeUnknown),
        (NoCredentialsError(), Misconfigured),
        (ParamValidationError(report="bad"), GiveUp),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value)[:40],
)
def test_failed_call_says_whether_it_can_have_happened(
    error: Exception, meaning: type[Exception]
) -> None:
    with pytest.raises(meaning) as raised, outcome("ses"):
        raise error

    assert type(raised.value) is meaning
