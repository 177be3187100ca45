"""Which failures of AWS may pass, and which an operator must end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ReadTimeoutError,
)
from botocore.stub import Stubber

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.dynamodb import DynamoTable
from lambdas.shared.adapters.failures import told_apart
from lambdas.shared.adapters.s3 import S3Bodies
from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.table import NEW, Change

ROW = {"pk": "github:1", "sk": "event"}
PASSING = [
    ("ProvisionedThroughputExceededException", 400),
    ("ThrottlingException", 400),
    ("RequestLimitExceeded", 400),
    ("TransactionConflictException", 400),
    ("InternalServerError", 500),
    ("ServiceUnavailable", 503),
    ("AnythingElse", 500),
]
LASTING = [
    ("AccessDeniedException", 400),
    ("ResourceNotFoundException", 400),
    ("UnrecognizedClientException", 400),
    ("ExpiredTokenException", 400),
    ("ValidationException", 400),
    ("KMSDisabledException", 400),
]
CASES = [(*each, Unavailable) for each in PASSING]
CASES += [(*each, Misconfigured) for each in LASTING]  # type: ignore[misc]


@pytest.mark.parametrize(("code", "status", "kind"), CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("operation", ["put_item", "update_item", "get_item", "query"])
def test_refusal_of_dynamodb_says_whether_it_passes(
    operation: str, code: str, status: int, kind: type[Exception]
) -> None:
    client = aws.client("dynamodb")
    table = DynamoTable("ledger", lambda: client)
    calls: dict[str, Callable[[], Any]] = {
        "put_item": lambda: table.put(ROW, when=NEW),
        "update_item": lambda: table.update("a", "b", Change(set={"x": 1}), when=NEW),
        "get_item": lambda: table.get("a", "b"),
        "query": lambda: list(table.query("a")),
    }

    with Stubber(client) as stub:
        stub.add_client_error(operation, code, "no", http_status_code=status)
        with pytest.raises(kind, match="the ledger"):
            calls[operation]()


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("SlowDown", 503, Unavailable),
        ("AccessDenied", 403, Misconfigured),
        ("NoSuchBucket", 404, Misconfigured),
    ],
)
def test_refusal_of_s3_says_whether_it_passes(
    code: str, status: int, kind: type[Exception]
) -> None:
    client = aws.client("s3")
    bodies = S3Bodies("payloads", lambda: client)

    calls: dict[str, Callable[[], Any]] = {
        "put_object": lambda: bodies.put("k", b"x"),
        "get_object": lambda: bodies.get("k"),
    }
    for operation, call in calls.items():
        with Stubber(client) as stub:
            stub.add_client_error(operation, code, "no", http_status_code=status)
            with pytest.raises(kind, match="the payload bucket"):
                call()


def test_object_that_is_not_there_is_none() -> None:
    client = aws.client("s3")
    bodies = S3Bodies("payloads", lambda: client)

    with Stubber(client) as stub:
        stub.add_client_error("get_object", "NoSuchKey", "no", http_status_code=404)
        assert bodies.get("k") is None


def error(kind: type[BotoCoreError], **words: Any) -> BotoCoreError:
    return kind(**words)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (error(EndpointConnectionError, endpoint_url="x"), Unavailable),
        (error(ConnectTimeoutError, endpoint_url="x"), Unavailable),
        (error(ReadTimeoutError, endpoint_url="x"), Unavailable),
        (error(NoCredentialsError), Misconfigured),
        (error(ParamValidationError, report="x"), Misconfigured),
    ],
    ids=lambda value: type(value).__name__,
)
def test_call_that_did_not_arrive(failure: Exception, kind: type[Exception]) -> None:
    with pytest.raises(kind), told_apart("the ledger"):
        raise failure


def test_error_without_a_status_may_pass() -> None:
    """Somebody's double, or a proxy: nothing says that the next call would fail."""
    bare = ClientError({"Error": {"Code": "Odd"}}, "PutItem")

    with pytest.raises(Unavailable), told_apart("the ledger"):
        raise bare


def test_error_of_ours_is_let_through() -> None:
    with pytest.raises(ZeroDivisionError), told_apart("the ledger"):
        1 / 0  # noqa: B018 - the error is the act
