"""Calls the outside world for certificates, keys and feeds, and only the outside world.

What it needs is imported when the first call is made: few receivers make one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.fetch import Reply, TooLarge
from lambdas.shared.networks import is_public
from lambdas.shared.outside import address

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

_PORT = 443
_CHUNK_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with its headers, their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def get(url: str, *, most_bytes: int, timeout_seconds: float) -> Reply:
    """Make one GET; see :class:`lambdas.shared.fetch.Https`."""
    answer = exchange(
        url, headers={}, most_bytes=most_bytes, timeout_seconds=timeout_seconds
    )
    return Reply(answer.status, answer.body)


def exchange(
    url: str,
    *,
    headers: Mapping[str, str],
    most_bytes: int,
    timeout_seconds: float,
    method: str = "GET",
    body: bytes | None = None,
) -> Answer:
    """Make one call with ``headers``; a redirect is not followed.

    Raises:
        Unavailable: as :class:`lambdas.shared.fetch.Https`.
        Misconfigured: a header holds what HTTP does not know, as a line's end.
    """
    from http.client import HTTPException

    from lambdas.shared.adapters.drip import response_until

    until = time.monotonic() + timeout_seconds
    parts = urlsplit(address(url))
    host = parts.hostname or ""
    target = f"{parts.path or '/'}{parts.query and '?'}{parts.query}"
    try:
        connection = _connection(parts.scheme, host, parts.port, timeout_seconds)
        connection.response_class = response_until(until)
        try:
            own = {"host": parts.netloc, "user-agent": "bellhop"}
            connection.request(method, target, body, headers={**headers, **own})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            read = _read(answer, host, most_bytes, until)
            return Answer(answer.status, told, read)
        finally:
            connection.close()
    except TimeoutError as error:
        raise Unavailable(f"{host} took too long") from error
    except (OSError, HTTPException) as error:
        raise Unavailable(f"{host} did not answer: {type(error).__name__}") from error
    except ValueError:
        # Its words quote the header, which may be a secret.
        raise Misconfigured(
            f"no header of HTTP would take what {host} is sent"
        ) from None


def _connection(
    scheme: str, host: str, port: int | None, timeout_seconds: float
) -> HTTPConnection:
    from http.client import HTTPConnection

    if scheme != "https":  # the local stack's outside world
        return HTTPConnection(host, port, timeout=timeout_seconds)
    import socket
    import ssl

    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The address that was looked at: resolved twice, a name may lead elsewhere.
    plain = socket.create_connection((public_address(host), _PORT), timeout_seconds)
    connection = HTTPConnection(host, _PORT, timeout=timeout_seconds)
    try:
        connection.sock = context.wrap_socket(plain, server_hostname=host)
    except OSError:
        plain.close()
        raise
    return connection


def public_address(host: str) -> str:
    """Return an address of ``host``, of which every one must be public.

    Raises:
        Unavailable: one leads into a private network.
    """
    import socket

    try:
        found = socket.getaddrinfo(host, _PORT, type=socket.SOCK_STREAM)
    except UnicodeError:  # a part that is empty, or has more than 63 characters
        raise Unavailable(f"{host[:100]} is no name of a host") from None
    addresses = [str(entry[4][0]) for entry in found]
    private = [a for a in addresses if not is_public(a)]
    if private:
        raise Unavailable(f"{host} leads into a private network: {private[0]}")
    # Lambda reaches IPv4 from everywhere.
    return min(addresses, key=lambda a: ":" in a)


def _read(answer: HTTPResponse, host: str, most_bytes: int, until: float) -> bytes:
    body = bytearray()  # which grows in place: a feed may have megabytes
    while chunk := answer.read1(_CHUNK_BYTES):
        body += chunk
        if len(body) > most_bytes:
            raise TooLarge(f"{host} answered more than {most_bytes} bytes")
        if time.monotonic() > until:
            raise Unavailable(f"{host} took too long")
    return bytes(body)
