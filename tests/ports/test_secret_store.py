"""The store of secrets, as Secrets Manager behaves."""

from __future__ import annotations

from collections.abc import Iterator

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError
from moto import mock_aws

from lambdas.shared.adapters.secretsmanager import SecretsManager
from lambdas.shared.errors import Misconfigured, Unavailable


@pytest.fixture
def store() -> Iterator[SecretsManager]:
    with mock_aws():
        client = boto3.client("secretsmanager")
        client.create_secret(Name="bellhop/github", SecretString="hush")
        client.create_secret(Name="bellhop/binary", SecretBinary=b"hush")
        yield SecretsManager(client)


def test_text_is_returned_as_it_is_now(store: SecretsManager) -> None:
    assert store.fetch("bellhop/github") == "hush"


@pytest.mark.parametrize("name", ["bellhop/absent", "bellhop/binary"])
def test_what_only_the_operator_can_mend_is_misconfigured(
    store: SecretsManager, name: str
) -> None:
    with pytest.raises(Misconfigured, match=name):
        store.fetch(name)


class Failing:
    """A client whose every call fails as AWS or the network would."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def get_secret_value(self, **_: str) -> None:
        raise self.error


def aws_error(code: str, status: int) -> ClientError:
    answer = {
        "Error": {"Code": code, "Message": "told"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, "GetSecretValue")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "means"),
    [
        (aws_error("InternalServiceError", 500), Unavailable),
        (aws_error("ThrottlingException", 400), Unavailable),
        (aws_error("SomethingNew", 503), Unavailable),
        (ConnectTimeoutError(endpoint_url="https://x"), Unavailable),
        (aws_error("AccessDeniedException", 400), Misconfigured),
        (aws_error("DecryptionFailure", 400), Misconfigured),
        (aws_error("InvalidRequestException", 400), Misconfigured),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)[:60]),
)
def test_failure_says_who_must_act(error: Exception, means: type[Exception]) -> None:
    store = SecretsManager(Failing(error))  # type: ignore[arg-type]

    with pytest.raises(means, match="bellhop/github"):
        store.fetch("bellhop/github")
