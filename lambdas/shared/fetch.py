"""The only way out for certificates and keys: pinned addresses, bounded, remembered.

A sender's request may name the address of its certificate. It is the forger's
until the signature holds, so nothing is called that is not on the sender's list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import urlsplit

from lambdas.shared.clock import Clock
from lambdas.shared.errors import BellhopError, Misconfigured, Unavailable

# A chain of certificates has 6 KB, Google's key set 2 KB.
MOST_BYTES = 64 * 1024
TIMEOUT_SECONDS = 2.0

# How long what was fetched is good: senders publish a new key days before its use.
MEMORY = timedelta(hours=1)
# While the other side is down, old keys serve on.
SERVE_STALE = timedelta(hours=24)
# What is not there is not asked for again, and a forger's addresses are not an
# engine that calls others: so many calls a minute and host.
NOT_THERE = timedelta(seconds=60)
MOST_CALLS = 10
_MINUTE = timedelta(seconds=60)
# Nobody has more certificates than this at a time.
_MOST_REMEMBERED = 64


class NotServed(BellhopError):
    """The other side answered, and not with what was asked for (a 3xx or 4xx)."""


class TooLarge(Unavailable):
    """The answer had more bytes than may be read: it will have them again."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the other side answered; ``body`` has at most ``MOST_BYTES``."""

    status: int
    body: bytes


class Https(Protocol):
    """Makes one call. The adapter is ``lambdas.shared.adapters.https.get``."""

    def __call__(self, url: str, *, most_bytes: int, timeout_seconds: float) -> Reply:
        """Return the answer, whatever its status; a redirect is not followed.

        Raises:
            Unavailable: no answer in time, or one that is too large.
        """
        ...


@dataclass(frozen=True, slots=True)
class Pin:
    """Which addresses may be called: host and path, both matched whole.

    A query is part of the path.
    """

    host: re.Pattern[str]
    path: re.Pattern[str]

    def allows(self, url: str) -> bool:
        """Tell whether ``url`` is https, without user or port, and on the list."""
        # urlsplit drops line ends and tabs that others might keep.
        if not url.isascii() or not url.isprintable() or "\\" in url or " " in url:
            return False
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return (
            # One spelling: "HTTPS:", a bare "?" or "#" would be fetched anew.
            url == f"https://{parts.netloc}{target}"
            # All of it: "a@b" and "b:444" are no hosts.
            and self.host.fullmatch(parts.netloc) is not None
            and self.path.fullmatch(target) is not None
        )


def pin(host: str, path: str) -> Pin:
    """Return a pin from two regular expressions."""
    return Pin(re.compile(host, re.ASCII), re.compile(path, re.ASCII))


class Fetch(Protocol):
    """What a proof fetches with."""

    def __call__(
        self, url: str, allowed: Pin, *, newer_than: timedelta | None = None
    ) -> bytes:
        """Return what lies at ``url``, remembered or fetched.

        ``newer_than`` asks for an answer no older than that.

        Raises:
            NotServed: it is not on the list, or the other side has it not.
            Unavailable: the other side is down, or was asked too often.
        """
        ...


def nothing(
    url: str,
    allowed: Pin,  # noqa: ARG001
    *,
    newer_than: timedelta | None = None,  # noqa: ARG001
) -> bytes:
    """Fetch nothing: where no way out was wired."""
    raise Misconfigured(f"nothing may be fetched here: {url}")


@dataclass(slots=True)
class _Known:
    body: bytes
    at: datetime


@dataclass(slots=True)
class Fetcher:
    """Fetches over ``https`` and remembers; ages by ``clock``."""

    https: Https
    clock: Clock
    _known: dict[str, _Known] = field(default_factory=dict, init=False)
    _missing: dict[str, datetime] = field(default_factory=dict, init=False)
    _calls: dict[str, list[datetime]] = field(default_factory=dict, init=False)

    def __call__(
        self, url: str, allowed: Pin, *, newer_than: timedelta | None = None
    ) -> bytes:
        """See :class:`Fetch`."""
        if not allowed.allows(url):
            raise NotServed("the address is not on the sender's list")
        known = self._known.get(url)
        wanted = MEMORY if newer_than is None else newer_than
        if known and self._is_within(wanted)(known.at):
            return known.body
        missing = self._missing.get(url)
        if missing and self._is_within(NOT_THERE)(missing):
            raise NotServed("it was not there a moment ago")
        try:
            return self._fetch(url)
        except Unavailable:
            if known and self._is_within(SERVE_STALE)(known.at):
                return known.body
            raise

    def _fetch(self, url: str) -> bytes:
        self._count(urlsplit(url).netloc)
        reply = self.https(url, most_bytes=MOST_BYTES, timeout_seconds=TIMEOUT_SECONDS)
        now = self.clock()
        if reply.status == 429 or reply.status >= 500:
            raise Unavailable(f"{urlsplit(url).netloc} answered {reply.status}")
        if reply.status != 200:
            _forget_oldest(self._missing)
            self._missing[url] = now
            raise NotServed(f"{urlsplit(url).netloc} answered {reply.status}")
        self._known.pop(url, None)
        _forget_oldest(self._known)
        self._known[url] = _Known(reply.body, now)
        return reply.body

    def _count(self, host: str) -> None:
        recent = list(filter(self._is_within(_MINUTE), self._calls.get(host, [])))
        if len(recent) >= MOST_CALLS:
            raise Unavailable(f"{host} was called {len(recent)} times in a minute")
        self._calls[host] = [*recent, self.clock()]

    def _is_within(self, age: timedelta) -> Callable[[datetime], bool]:
        now = self.clock()
        # A clock that was turned back makes everything old.
        return lambda at: timedelta(0) <= now - at < age


def _forget_oldest(remembered: dict[str, _Known] | dict[str, datetime]) -> None:
    if len(remembered) >= _MOST_REMEMBERED:
        del remembered[next(iter(remembered))]
