"""Gets an iCal feed: politely, within bounds, and never from a private network."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from lambdas.planner.ical import MOST_BYTES
from lambdas.planner.occurrence import Refused
from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.outside import Answer, Exchange
from lambdas.shared.waiting import retry_after

TIMEOUT_SECONDS = 20.0
_MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """What lies at a feed's address; ``body`` is None where it has not changed."""

    body: bytes | None
    etag: str = ""
    modified: str = ""


def get(exchange: Exchange, address: str, *, etag: str = "", modified: str = "") -> Got:
    """Return the feed at ``address``, unless it is still the one of ``etag``.

    Raises:
        Misconfigured: it is no address that may be called.
        Refused: the other side says that there is no such feed, or leads elsewhere.
        Unavailable: it did not answer in time, or not now.
    """
    headers = {"accept": "text/calendar, text/plain;q=0.5"}
    headers |= {"if-none-match": etag} if etag else {}
    headers |= {"if-modified-since": modified} if modified else {}
    url = checked(address)
    for _ in range(_MOST_REDIRECTS + 1):
        answer = exchange(
            url,
            headers=headers,
            most_bytes=MOST_BYTES,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        if answer.status not in _REDIRECTS:
            return _got(answer, urlsplit(url).hostname or "")
        try:
            url = checked(urljoin(url, answer.headers.get("location", "")))
        except Misconfigured as error:
            raise Refused(f"redirected to where nobody may follow: {error}") from error
    raise Refused(f"more than {_MOST_REDIRECTS} redirects")


def checked(address: str) -> str:
    """Return ``address`` as https.

    Raises:
        Misconfigured: it is something else. The path, which may be a secret, is not
            told.
    """
    address = address.strip()
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise Misconfigured("the feed's address is none") from error
    if parts.scheme not in ("https", "webcal", "webcals") or not parts.hostname:
        raise Misconfigured("the feed's address: want https:// or webcal://")
    if port not in (None, 443) or "@" in parts.netloc or not address.isprintable():
        raise Misconfigured("the feed's address: want a host without user or port")
    query = f"?{parts.query}" if parts.query else ""
    return f"https://{parts.hostname}{parts.path or '/'}{query}"


def _got(answer: Answer, host: str) -> Got:
    etag = answer.headers.get("etag", "")
    modified = answer.headers.get("last-modified", "")
    if answer.status == 304:
        return Got(body=None, etag=etag, modified=modified)
    if answer.status == 429 or answer.status >= 500:
        after = retry_after(answer.headers.get("retry-after"))
        raise Unavailable(f"{host} answered {answer.status}", after=after)
    if answer.status != 200:
        raise Refused(f"{host} answered {answer.status}")
    length = answer.headers.get("content-length", "")
    if length.isdigit() and int(length) > len(answer.body):
        raise Refused(f"{host} promised {length} bytes and sent {len(answer.body)}")
    return Got(body=answer.body, etag=etag, modified=modified)
