"""Secrets of the sources: what one holds, and a short memory of what was fetched.

A secret's text is the bare secret, or JSON ``{"current", "previous",
"previous_until"}`` while two are live (RFC 3339; without an end ``previous``
lives until it is removed). A key of Google's is JSON itself, and is bare, too.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, Protocol

from lambdas.shared.clock import Clock
from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.google import KINDS
from lambdas.shared.observe import logger

Which = Literal["current", "previous"]

# How long a change may stay unseen by a warm function.
MEMORY = timedelta(seconds=60)
# A mismatch may mean that the secret was changed: look again, but not for every
# forgery. Counted per secret and process.
LOOK_AGAIN = timedelta(seconds=60)
# While Secrets Manager is down, a secret known to have been good serves on: a
# sender that never retries would lose its events otherwise. After that nobody
# knows any more whether it was retired.
SERVE_STALE = timedelta(hours=1)
# Do not let every request of an outage wait for the same time-out.
REST_AFTER_FAILURE = timedelta(seconds=5)

_ALWAYS = timedelta.max

# An instant by the clock, and by what runs on while a local clock stands still.
_Moment = tuple[datetime, float]


class SecretStore(Protocol):
    """Where secrets are kept."""

    def fetch(self, name: str) -> str:
        """Return the secret's text as it is now.

        Raises:
            Misconfigured: there is none, it is not text, or it may not be read.
            Unavailable: the store did not answer.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """One source's secret; two values while it is being rotated."""

    current: str = field(repr=False)
    previous: str | None = field(default=None, repr=False)
    previous_until: datetime | None = None

    def live(self, now: datetime) -> Mapping[Which, str]:
        """Return the values that are accepted at ``now``, the current first."""
        values: dict[Which, str] = {"current": self.current}
        until = self.previous_until
        if self.previous is not None and (until is None or now < until):
            values["previous"] = self.previous
        return values


def parse(name: str, text: str) -> Secret:
    """Read a secret's text.

    Raises:
        Misconfigured: it is empty, or JSON of another form. The message names
            the secret and never quotes it.
    """
    text = _pasted(text)
    if not text.strip():
        raise Misconfigured(f"secret {name} is empty")
    if not text.lstrip().startswith("{"):
        return Secret(current=text)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Misconfigured(f"secret {name}: want text or a JSON object") from None
    if found.get("type") in KINDS:
        return Secret(current=text)
    current, previous = _value(name, found, "current"), None
    if found.get("previous"):
        previous = _value(name, found, "previous")
    return Secret(
        current=current, previous=previous, previous_until=_until(name, found)
    )


def _value(name: str, found: Mapping[str, Any], key: str) -> str:
    value = found.get(key)
    if not isinstance(value, str) or not value.strip():
        raise Misconfigured(f"secret {name}: {key!r}: want text that is not empty")
    return _pasted(value)


def _pasted(text: str) -> str:
    """Return ``text`` without what editors add around it; no sender's has it."""
    return text.removeprefix("\ufeff").rstrip("\r\n")


def _until(name: str, found: Mapping[str, Any]) -> datetime | None:
    value = found.get("previous_until")
    if value is None:
        return None
    try:
        until = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise Misconfigured(
            f"secret {name}: 'previous_until': want an RFC 3339 time"
        ) from None
    return until if until.tzinfo else until.replace(tzinfo=UTC)


@dataclass(slots=True)
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    secret: Secret | None = None
    fetched_at: _Moment | None = None
    looked_again_at: _Moment | None = None
    failure: Misconfigured | Unavailable | None = None
    failed_at: _Moment | None = None


class Secrets:
    """Remembers secrets for a minute; safe under threads, one fetch at a time."""

    def __init__(self, store: SecretStore, clock: Clock) -> None:
        """Fetch from ``store``; grow older by ``clock``."""
        self._store = store
        self._clock = clock
        self._entries: dict[str, _Entry] = {}

    def get(self, name: str) -> Secret:
        """Return the secret, at most a minute old.

        While the store is down, at most an hour old.

        Raises:
            Misconfigured: it is missing, unreadable or of the wrong form.
            Unavailable: the store did not answer and nothing is remembered.
        """
        entry = self._entry(name)
        with entry.lock:
            if entry.secret and self._age(entry.fetched_at) < MEMORY:
                return entry.secret
            try:
                return self._fetch(name, entry)
            except Unavailable:
                if not entry.secret or self._age(entry.fetched_at) > SERVE_STALE:
                    raise
                logger.warning("old secret used, the store is down", secret=name)
                return entry.secret

    def look_again(self, name: str, seen: Secret) -> Secret | None:
        """Return another secret than ``seen``, if there is one by now.

        For the moment after a mismatch. It fetches once a minute at most.

        Raises:
            Misconfigured: as :meth:`get`.
            Unavailable: the store did not answer: nobody knows.
        """
        entry = self._entry(name)
        with entry.lock:
            if entry.secret == seen:
                if self._age(entry.looked_again_at) < LOOK_AGAIN:
                    return None
                self._fetch(name, entry)
                entry.looked_again_at = self._now()
            return entry.secret if entry.secret != seen else None

    def _entry(self, name: str) -> _Entry:
        return self._entries.setdefault(name, _Entry())

    def _fetch(self, name: str, entry: _Entry) -> Secret:
        failure = entry.failure
        if failure and self._age(entry.failed_at) < REST_AFTER_FAILURE:
            raise type(failure)(str(failure))
        try:
            secret = parse(name, self._store.fetch(name))
        except (Misconfigured, Unavailable) as error:
            entry.failure, entry.failed_at = error, self._now()
            if isinstance(error, Misconfigured):
                entry.secret = None  # what was there is no longer true
            raise
        entry.secret, entry.fetched_at, entry.failure = secret, self._now(), None
        return secret

    def _now(self) -> _Moment:
        return self._clock(), time.monotonic()

    def _age(self, since: _Moment | None) -> timedelta:
        if since is None:
            return _ALWAYS
        now = self._now()
        age = max(now[0] - since[0], timedelta(seconds=now[1] - since[1]))
        # A clock that was turned back says nothing: as old as can be.
        return age if now[0] >= since[0] else _ALWAYS
