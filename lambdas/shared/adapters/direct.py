"""A call's first try, sent without a client; a client of botocore's does the rest.

A client spends twice what a call costs, and half of a cold start, on being general:
events, rules of endpoints, shapes, parsers. Here a request of one fixed form is signed
by botocore's signer, with its credentials, and sent over a kept connection. Whatever is
not the answer that everybody hopes for is left to the client, which makes the same call
anew with its retries, and tells what is wrong in its own errors. See decision 0017.
"""

from __future__ import annotations

import base64
import functools
import json
import os
import random
import re
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from botocore.httpsession import get_cert_path
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, Timeout
from urllib3.exceptions import HTTPError

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.failures import PASSING
from lambdas.shared.observe import logger

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

REFUSED = "ConditionalCheckFailedException"

# Lambda sets none of them. Who does wants what only botocore knows to do.
UNUSUAL = (
    "AWS_CA_BUNDLE",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_USE_FIPS_ENDPOINT",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "REQUESTS_CA_BUNDLE",
    "https_proxy",
    "http_proxy",
)
# The regions of AWS's main partition: all others have domains of their own.
_MAIN_REGION = re.compile(r"(us|eu|ap|sa|ca|me|af|il|mx)-[a-z]+-\d+")

# One connection for each thread of a worker's largest batch.
_MOST_CONNECTIONS = 10


@dataclass(frozen=True, slots=True)
class _Protocol:
    """How a service wants its operations named, its JSON called, its address set."""

    target: str
    media_type: str
    url_variable: str


_PROTOCOLS = {
    "dynamodb": _Protocol(
        "DynamoDB_20120810", "application/x-amz-json-1.0", "AWS_ENDPOINT_URL_DYNAMODB"
    ),
    "secretsmanager": _Protocol(
        "secretsmanager",
        "application/x-amz-json-1.1",
        "AWS_ENDPOINT_URL_SECRETS_MANAGER",
    ),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, before anybody has judged it."""

    status: int
    body: bytes
    checksum: str | None = None


class Direct:
    """The calls of one service that have a first try; all others are the client's.

    Takes and returns what a client would, but for bytes in an answer: they stay
    base64, as they came, unless it was the client that got them.
    """

    def __init__(self, service: str) -> None:
        """Read where the service is; nothing is sent."""
        self._service = service
        self._protocol = _PROTOCOLS[service]
        with aws.making:
            self._region = aws.session().get_config_variable("region") or ""
            self._url = _address(service, self._region)

    def put_item(self, **request: Any) -> Any:
        """See DynamoDB's client."""
        return self._call("PutItem", "put_item", request)

    def update_item(self, **request: Any) -> Any:
        """See DynamoDB's client."""
        return self._call("UpdateItem", "update_item", request)

    def get_item(self, **request: Any) -> Any:
        """See DynamoDB's client."""
        return self._call("GetItem", "get_item", request)

    def get_secret_value(self, **request: Any) -> Any:
        """See Secrets Manager's client."""
        return self._call("GetSecretValue", "get_secret_value", request)

    def __getattr__(self, name: str) -> Any:
        """Return the client's own operation ``name``."""
        return getattr(aws.client(self._service), name)

    def _call(self, operation: str, method: str, request: dict[str, Any]) -> Any:
        if not self._url:
            return getattr(aws.client(self._service), method)(**request)
        try:
            found = _judged(self._sent(operation, request), operation)
        except (BotoCoreError, HTTPError, OSError) as error:
            logger.info("aws call repeated", call=operation, why=type(error).__name__)
            found = None
        if found is not None:
            return found
        return getattr(aws.again(self._service), method)(**request)

    def _sent(self, operation: str, request: Mapping[str, Any]) -> Answer:
        """Sign and send."""
        credentials = aws.credentials()
        if credentials is None:
            raise NoCredentialsError
        protocol = self._protocol
        body = json.dumps(request, default=_base64, separators=(",", ":")).encode()
        headers = {
            "Content-Type": protocol.media_type,
            "User-Agent": "bellhop",
            "X-Amz-Target": f"{protocol.target}.{operation}",
        }
        signed = AWSRequest("POST", f"{self._url}/", headers, body)
        frozen = credentials.get_frozen_credentials()
        SigV4Auth(frozen, self._service, self._region).add_auth(signed)
        return post(self._url, dict(signed.headers.items()), body)


@functools.cache
def client(service: str) -> Any:
    """Return the process's own for ``service``: ``dynamodb`` or ``secretsmanager``."""
    return Direct(service)


def post(url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    """Send a signed request to the service at ``url``, and wait for its answer.

    Raises:
        HTTPError: there was none.
    """
    answer: BaseHTTPResponse = _pool(url).urlopen(
        "POST", "/", body, headers, retries=False, redirect=False
    )
    return Answer(answer.status, answer.data, answer.headers.get("x-amz-crc32"))


@functools.cache
def _pool(url: str) -> HTTPConnectionPool:
    parts = urlsplit(url)
    host = parts.hostname or ""
    timeout = Timeout(connect=aws.CONNECT_SECONDS, read=aws.READ_SECONDS)
    if parts.scheme == "http":
        return HTTPConnectionPool(
            host, parts.port, timeout=timeout, maxsize=_MOST_CONNECTIONS
        )
    return HTTPSConnectionPool(
        host,
        parts.port,
        timeout=timeout,
        maxsize=_MOST_CONNECTIONS,
        cert_reqs="CERT_REQUIRED",
        ca_certs=get_cert_path(True),
    )


def _address(service: str, region: str) -> str:
    """Return where a first try may go; empty where that is for botocore to find."""
    unusual = any(os.environ.get(name) for name in UNUSUAL)
    # A profile may ask for anything, too.
    if unusual or aws.session().get_scoped_config():
        return ""
    variable = _PROTOCOLS[service].url_variable
    url = os.environ.get(variable) or os.environ.get("AWS_ENDPOINT_URL")
    if url is None:
        is_known = _MAIN_REGION.fullmatch(region)
        return f"https://{service}.{region}.amazonaws.com" if is_known else ""
    parts = urlsplit(url)
    is_plain = parts.hostname and parts.path in {"", "/"} and not parts.query
    return f"{parts.scheme}://{parts.netloc}" if is_plain and region else ""


def _judged(answer: Answer, operation: str) -> Any:
    """Return what was answered, or None where the client should ask again.

    Raises:
        ClientError: a condition did not hold; asking again would change nothing.
    """
    values = _values(answer)
    if answer.status == 200 and values is not None:
        return values
    told = values or {}
    code = str(told.get("__type", "")).rpartition("#")[2]
    if code == REFUSED:
        raise ClientError(
            {
                "Error": {"Code": code, "Message": str(told.get("message", ""))},
                "Item": told.get("Item"),  # type: ignore[typeddict-unknown-key]
            },
            operation,
        )
    logger.info("aws call repeated", call=operation, why=code or answer.status)
    if answer.status >= 500 or code in PASSING:
        # As long as botocore waits before its own second try.
        time.sleep(random.random())  # noqa: S311  no secret
    return None


def _values(answer: Answer) -> dict[str, Any] | None:
    """Return the answer's values; None where it is damaged, or not the service's."""
    if answer.checksum not in {None, str(zlib.crc32(answer.body))}:
        return None
    try:
        values = json.loads(answer.body)
    except ValueError:
        return None
    return values if isinstance(values, dict) else None


def _base64(value: Any) -> str:
    """Return bytes as the services' JSON spells them."""
    return base64.b64encode(value).decode()
