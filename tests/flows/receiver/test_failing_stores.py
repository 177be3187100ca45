"""What becomes of a large body when S3 or the ledger fails: nothing half there."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError
from moto import mock_aws

from lambdas.receiver import handler
from lambdas.shared.adapters import aws, direct
from lambdas.shared.adapters.dynamodb import ledger
from lambdas.shared.errors import BellhopError
from lambdas.shared.settings import ReceiverSettings
from tests.fakes.moto_ledger import BUCKET, TABLE, make_bucket, make_table
from tests.flows.receiver.test_counting import knock, signed_body
from tests.unit.receiver.door import SECRET, Call

SETTINGS = ReceiverSettings(ledger_table=TABLE, payload_bucket=BUCKET)
# Lambda ends the receiver then, and its sender hears nothing that helps.
RECEIVER_SECONDS = 10


def refused(code: str, status: int, operation: str) -> ClientError:
    return ClientError(
        {
            "Error": {"Code": code, "Message": ""},
            "ResponseMetadata": {"HTTPStatusCode": status},  # type: ignore[typeddict-item]
        },
        operation,
    )


UNREACHED = ConnectTimeoutError(endpoint_url="https://aws.example")
UNANSWERED = ReadTimeoutError(endpoint_url="https://aws.example")


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    fleet = tmp_path / "fleet.toml"
    fleet.write_text("[sources.github]\nmax_body_bytes = 6_000_000\n")
    monkeypatch.setenv("BELLHOP_FLEET", str(fleet))
    for name, value in SETTINGS.to_env().items():
        monkeypatch.setenv(name, value)
    forget()
    with mock_aws():
        make_table()
        make_bucket()
        boto3.client("secretsmanager").create_secret(
            Name="bellhop/github", SecretString=SECRET
        )
        forget()
        yield
    forget()


def forget() -> None:
    aws.client.cache_clear()
    handler._intake.cache_clear()


@contextmanager
def failing(
    service: str, operation: str, error: Exception, *, done: bool
) -> Iterator[None]:
    """Let every such call fail: after it was ``done`` (the answer is lost), or not."""
    client = (direct if service == "dynamodb" else aws).client(service)
    real: Callable[..., Any] = getattr(client, operation)

    def fail(**request: Any) -> Any:
        if done:
            real(**request)
        raise error

    setattr(client, operation, fail)
    try:
        yield
    finally:
        setattr(client, operation, real)


def large() -> Call:
    noise = os.urandom(200_000).hex()
    return signed_body(json.dumps({"action": "opened", "noise": noise}).encode())


def rows() -> list[dict[str, Any]]:
    found: list[Any] = boto3.client("dynamodb").scan(TableName=TABLE)["Items"]
    return found


def objects() -> set[str]:
    listed = boto3.client("s3").list_objects_v2(Bucket=BUCKET)
    return {each["Key"] for each in listed.get("Contents", [])}


def assert_nothing_dangles() -> None:
    assert {row["body_ref"]["S"] for row in rows() if "body_ref" in row} <= objects()


# service, operation, what fails, whether it was done -> answer, objects, events
FAILURES = [
    ("s3", "put_object", refused("SlowDown", 503, "PutObject"), False, 503, 0, 0),
    ("s3", "put_object", refused("InternalError", 500, "PutObject"), False, 503, 0, 0),
    ("s3", "put_object", refused("AccessDenied", 403, "PutObject"), False, 500, 0, 0),
    ("s3", "put_object", refused("NoSuchBucket", 404, "PutObject"), False, 500, 0, 0),
    ("s3", "put_object", UNREACHED, False, 503, 0, 0),
    ("s3", "put_object", UNANSWERED, True, 503, 1, 0),
    ("dynamodb", "put_item", UNREACHED, False, 503, 1, 0),
    (
        "dynamodb",
        "put_item",
        refused("ProvisionedThroughputExceededException", 400, "PutItem"),
        False,
        503,
        1,
        0,
    ),
    ("dynamodb", "put_item", UNANSWERED, True, 503, 1, 1),
]


@pytest.mark.parametrize(
    ("service", "operation", "error", "done", "status", "kept", "accepted"),
    FAILURES,
    ids=[f"{f[0]} {type(f[2]).__name__} {f[3] and 'after'} {f[4]}" for f in FAILURES],
)
def test_failure_around_a_large_body_loses_and_dangles_nothing(
    receiver: None,
    service: str,
    operation: str,
    error: Exception,
    done: bool,
    status: int,
    kept: int,
    accepted: int,
) -> None:
    call = large()

    with failing(service, operation, error, done=done):
        heard, _ = knock(call)

    assert heard == status
    assert (len(objects()), len(rows())) == (kept, accepted)
    assert_nothing_dangles()

    heard, told = knock(call)

    assert (heard, told["deduplicated"]) == (200, bool(accepted))
    assert (len(objects()), len(rows())) == (1, 1)
    assert_nothing_dangles()
    event = ledger(SETTINGS, ledger_days=45).event(told["event_id"])
    assert event is not None
    assert event.body == call.body


def test_small_bodies_do_without_s3(receiver: None) -> None:
    small = signed_body(b'{"action": "opened"}')

    with failing("s3", "put_object", UNREACHED, done=False):
        assert knock(small)[0] == 200


def test_ledger_that_expired_the_row_first_leaves_only_an_object(
    receiver: None,
) -> None:
    """The lifecycle's days exceed the ledger's: the object goes last."""
    call = large()
    _, told = knock(call)
    boto3.client("dynamodb").delete_item(
        TableName=TABLE, Key={"pk": {"S": told["event_id"]}, "sk": {"S": "event"}}
    )

    assert ledger(SETTINGS, ledger_days=45).event(told["event_id"]) is None
    assert len(objects()) == 1
    assert knock(call)[1]["deduplicated"] is False
    assert len(objects()) == 1


class SlowS3(ThreadingHTTPServer):
    """Takes every object, after ``seconds``."""

    daemon_threads = True

    def __init__(self, seconds: float) -> None:
        super().__init__(("127.0.0.1", 0), _Put)
        self.seconds = seconds
        self.asked = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Put(BaseHTTPRequestHandler):
    server: SlowS3

    def do_PUT(self) -> None:
        self.server.asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.server.seconds)
        try:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
        except OSError:
            pass  # the caller has given up

    def log_message(self, format: str, *args: Any) -> None: ...


@contextmanager
def slow_s3(seconds: float, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowS3]:
    with SlowS3(seconds) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.url)
        forget()
        yield server
        server.shutdown()
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3")
    forget()


def test_s3_that_is_slow_is_waited_for(
    receiver: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with slow_s3(1.5, monkeypatch) as server:
        status, _ = knock(large())

    assert (status, server.asked) == (200, 1)


def test_s3_that_hangs_is_answered_before_lambda_ends_the_receiver(
    receiver: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = large()
    began = time.monotonic()

    with slow_s3(60, monkeypatch) as server:
        status, told = knock(call)
        spent = time.monotonic() - began

    assert (status, told) == (503, {"error": "unavailable"})
    assert spent < RECEIVER_SECONDS
    assert server.asked == 2
    assert rows() == []
    assert knock(call)[0] == 200


def test_agents_read_that_fails_is_tried_again(receiver: None) -> None:
    _, told = knock(large())
    event = ledger(SETTINGS, ledger_days=45).event(told["event_id"])
    assert event is not None

    with (
        failing("s3", "get_object", refused("SlowDown", 503, "GetObject"), done=False),
        pytest.raises(BellhopError) as failed,
    ):
        event.payload  # noqa: B018 - the touch is the act

    assert type(failed.value).__name__ == "Unavailable"
    assert isinstance(event.payload, dict)
