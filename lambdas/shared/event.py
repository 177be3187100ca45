"""The event: something that happened, accepted once, under one id."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

# Ids are keys of the ledger and travel in headers and commands: a longer one is hashed.
LONGEST_ID = 200

Fact = str | int | float | bool | None


class Content:
    """An event's body as it came, decoded only when somebody asks.

    ``media_type`` is the sender's ``Content-Type`` without parameters, in
    lower case. The bytes may be given, or fetched at the first need (a body
    kept apart is read only by an agent that looks at it).
    """

    def __init__(self, body: bytes | Callable[[], bytes], media_type: str = "") -> None:
        """Hold ``body``, or what fetches it; a fetch is made once."""
        self._body = body
        self.media_type = media_type
        self._decoded: Any = self

    @property
    def body(self) -> bytes:
        """The bytes as the sender sent them."""
        if not isinstance(self._body, bytes):
            self._body = self._body()
        return self._body

    @property
    def payload(self) -> Any:
        """The body as JSON values; a form as a dict; else the bytes themselves.

        A form with one ``payload`` field that holds JSON (Slack, GitHub) is
        read through. Decoded once; later calls return the same object.
        """
        if self._decoded is self:
            self._decoded = self._decode()
        return self._decoded

    def _decode(self) -> Any:
        if self.media_type == "application/x-www-form-urlencoded":
            return _form(self.body)
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return self.body


def _form(body: bytes) -> Any:
    try:
        pairs = parse_qs(body.decode(), keep_blank_values=True)
    except ValueError:
        return body
    fields = {name: v[0] if len(v) == 1 else v for name, v in pairs.items()}
    wrapped = fields.get("payload")
    if isinstance(wrapped, str):
        try:
            return json.loads(wrapped)
        except (ValueError, RecursionError):
            return fields
    return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, told once, in the words of its source.

    ``id`` is ``<source>:<the sender's own delivery id>``, so that a
    redelivered webhook yields an equal id. ``kind`` is the sender's own word,
    without the source, such as ``issues.opened``. Both times are
    timezone-aware, in UTC; ``occurred_at`` is the sender's where it tells
    one. ``facts`` are the few values that rules may match on, flat, 4 KB at
    most. ``headers`` are the allow-listed ones, names in lower case.
    """

    id: str
    source: str
    kind: str
    occurred_at: datetime
    received_at: datetime
    content: Content = field(repr=False, compare=False)
    tenant: str | None = None
    actor: str | None = None
    thread: str | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def payload(self) -> Any:
        """The body, decoded; see :attr:`Content.payload`."""
        return self.content.payload

    @property
    def body(self) -> bytes:
        """The body, byte for byte as the sender sent it."""
        return self.content.body


def event_id(source: str, delivery_id: str) -> str:
    """Return the id under which a delivery is accepted.

    Ids longer than 200 characters are replaced by their SHA-256, under the
    same source, so equal deliveries still have equal ids.
    """
    whole = f"{source}:{delivery_id}"
    if len(whole) <= LONGEST_ID:
        return whole
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{source}:sha256-{digest}"
