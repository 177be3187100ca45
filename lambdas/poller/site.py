"""Gets what lies at a feed's address: politely, and within bounds.

The way out is :func:`lambdas.shared.adapters.https.exchange`, which calls no private
network and no port but 443.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from urllib.parse import urljoin, urlsplit

from lambdas.poller.item import MOST_BYTES, Refused, date
from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.outside import Answer, Exchange

TIMEOUT_SECONDS = 30.0
# Whatever a site says, a feed is looked at once a day.
LONGEST_WAIT = timedelta(days=1)
# "Too many requests", and not a word on when.
_WAIT_UNTOLD = timedelta(hours=1)
_MOST_REDIRECTS = 3
_FOR_GOOD = (301, 308)
_REDIRECTS = (*_FOR_GOOD, 302, 303, 307)
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?([0-9]{1,9})", re.I | re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)
_ACCEPT = {
    "json": "application/feed+json, application/json, */*;q=0.5",
    "rss": "application/atom+xml, application/rss+xml, application/xml;q=0.9,"
    " text/xml;q=0.9, */*;q=0.5",
}


class Gone(Refused):
    """The site says that there is no such feed any more, and never will be (410)."""


class NotNow(Unavailable):
    """The site does not want to be asked again before ``wait`` has passed."""

    def __init__(self, message: str, wait: timedelta) -> None:
        """Refuse for ``wait``."""
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for; ``own`` are the headers that prove us, to one host only."""

    address: str = field(repr=False)
    format: str
    own: Mapping[str, str] = field(default_factory=dict, repr=False)
    etag: str = ""
    modified: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Got:
    """What lies there; ``body`` is None where it has not changed.

    ``wait`` is how long the answer is good by its own word, ``moved`` the host that
    the site says is the feed's for good.
    """

    body: bytes | None
    content_type: str = ""
    etag: str = ""
    modified: str = ""
    wait: timedelta = timedelta(0)
    moved: str = ""


def get(exchange: Exchange, asked: Asked, now: datetime) -> Got:
    """Return what lies at the address, unless it is still that of the ``etag``.

    Raises:
        Misconfigured: it is no address that may be called.
        Gone: 410.
        Refused: the site has no such feed, or leads elsewhere.
        NotNow: it does not want to be asked so often.
        Unavailable: it did not answer in time, or not now.
    """
    url = checked(asked.address)
    home, moved, for_good = urlsplit(url).hostname or "", "", True
    for _ in range(_MOST_REDIRECTS + 1):
        answer = exchange(
            url,
            headers=_headers(asked, is_home=urlsplit(url).hostname == home),
            most_bytes=MOST_BYTES,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        if answer.status not in _REDIRECTS:
            return replace(_got(answer, urlsplit(url).hostname or "", now), moved=moved)
        # One that is for now ends what is told for good.
        for_good = for_good and answer.status in _FOR_GOOD
        try:
            url = checked(urljoin(url, answer.headers.get("location", "")))
        except (Misconfigured, ValueError) as error:
            raise Refused(f"redirected to where nobody may follow: {error}") from error
        moved = (urlsplit(url).hostname or "") if for_good else moved
    raise Refused(f"more than {_MOST_REDIRECTS} redirects")


def checked(address: str) -> str:
    """Return ``address`` as it is called.

    Raises:
        Misconfigured: it is not https. The path, which may be a secret, is not told.
    """
    address = address.strip()
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise Misconfigured("the feed's address is none") from error
    if parts.scheme != "https" or not parts.hostname:
        raise Misconfigured("the feed's address: want https://")
    if port not in (None, 443) or "@" in parts.netloc or not address.isascii():
        raise Misconfigured("the feed's address: want a host without user or port")
    if not address.isprintable() or " " in address:
        raise Misconfigured("the feed's address: want no blanks in it")
    query = f"?{parts.query}" if parts.query else ""
    return f"https://{parts.hostname}{parts.path or '/'}{query}"


def _headers(asked: Asked, *, is_home: bool) -> dict[str, str]:
    headers = {"accept": _ACCEPT[asked.format], "accept-encoding": "gzip"}
    headers |= {"if-none-match": asked.etag} if asked.etag else {}
    headers |= {"if-modified-since": asked.modified} if asked.modified else {}
    return {**headers, **(asked.own if is_home else {})}


def _got(answer: Answer, host: str, now: datetime) -> Got:
    told, status = answer.headers, answer.status
    again = _retry_after(told, now)
    if status in (429, 503):
        raise NotNow(
            f"{host} answered {status}",
            again or (_WAIT_UNTOLD if status == 429 else timedelta(0)),
        )
    if status >= 500:
        raise Unavailable(f"{host} answered {status}")
    if status == 410:
        raise Gone(f"{host} answered 410: the feed is gone for good")
    if status not in (200, 304):
        raise Refused(f"{host} answered {status}")
    got = Got(
        body=None,
        content_type=told.get("content-type", ""),
        etag=told.get("etag", "")[:1000],
        modified=told.get("last-modified", "")[:100],
        wait=max(_max_age(told), again or timedelta(0)),
    )
    return got if status == 304 else replace(got, body=_body(answer, host))


def _body(answer: Answer, host: str) -> bytes:
    length = answer.headers.get("content-length", "")
    if _SECONDS.fullmatch(length) and int(length) > len(answer.body):
        raise Refused(f"{host} promised {length} bytes and sent {len(answer.body)}")
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding in ("gzip", "x-gzip") or answer.body.startswith(b"\x1f\x8b"):
        return _unpacked(answer.body)
    if encoding not in ("", "identity"):
        raise Refused(f"{host} answered in {encoding[:20]!r}, which nobody asked for")
    return answer.body


def _unpacked(body: bytes) -> bytes:
    unpack = zlib.decompressobj(wbits=31)
    try:
        plain = unpack.decompress(body, MOST_BYTES + 1)
    except zlib.error as error:
        raise Refused(f"broken gzip: {error}") from error
    if len(plain) > MOST_BYTES:
        raise Refused(f"more than {MOST_BYTES} bytes once unpacked")
    if not unpack.eof:
        raise Refused("gzip that is cut off")
    return plain


def _max_age(told: Mapping[str, str]) -> timedelta:
    control = told.get("cache-control", "")
    found = _MAX_AGE.search(control)
    if found is None or re.search(r"\bno-(cache|store)\b", control, re.I):
        return timedelta(0)
    age = told.get("age", "")
    spent = int(age) if _SECONDS.fullmatch(age) else 0
    return timedelta(seconds=max(int(found[1]) - spent, 0))


def _retry_after(told: Mapping[str, str], now: datetime) -> timedelta | None:
    text = told.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return timedelta(seconds=int(text))
    at = date(text)
    return None if at is None else max(at - now, timedelta(0))
