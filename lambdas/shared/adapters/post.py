"""One POST to the outside world, by the standard library alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.outside import address

_TIMEOUT_SECONDS = 10
# A page of HTML from a proxy is not read to its end.
_MOST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What came back; header names are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Answered:
    """Post ``body``; a redirect is not followed.

    Raises:
        Unavailable: no answer.
        Misconfigured: ``url`` is none, or a header holds what HTTP does not know.
    """
    # Imported here: only a digest that has something to say needs them.
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    where = address(url)
    try:
        parts = urlsplit(where)
        host, port = parts.hostname, parts.port
    except ValueError:
        # Its words quote the address, which may be the secret.
        raise Misconfigured("it is no address") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise Misconfigured("an address begins with https://")
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    connection = kind(host, port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("POST", target, body=body, headers=dict(headers))
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        text = answer.read(_MOST_BYTES)
        return Answered(status=answer.status, body=text, headers=told)
    except (OSError, HTTPException) as error:
        # The address holds a webhook's secret: only its host is named.
        raise Unavailable(f"{host} did not answer: {type(error).__name__}") from error
    except ValueError:
        # Its words quote the header, which holds the bot's token.
        raise Misconfigured(
            f"no header of HTTP would take the secret that {host} is sent"
        ) from None
    finally:
        connection.close()
