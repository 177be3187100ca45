"""What a sender is about to send, and what goes over the wire once it is signed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A signed request. ``query`` is added to the source's address."""

    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"
    query: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A request before it is signed.

    ``event`` is the sample's name (``issues.opened``), ``id`` the delivery id
    that the sender would make up, ``at`` the time it would write down, ``url``
    the address as the sender knows it, ``options`` the source's own table of
    ``fleet.toml``. ``secret`` is used as text; each signer says how it reads it.

    Raises:
        ValueError: the secret is empty; no sender signs with nothing.
    """

    event: str
    body: bytes
    secret: str
    at: datetime
    id: str
    media_type: str = "application/json"
    url: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse an empty secret."""
        if not self.secret:
            raise ValueError("the secret is empty")

    @property
    def seconds(self) -> str:
        """The time in epoch seconds, as most senders write it."""
        return str(int(self.at.timestamp()))

    @property
    def milliseconds(self) -> str:
        """The time in epoch milliseconds."""
        return str(round(self.at.timestamp() * 1000))

    @property
    def payload(self) -> Any:
        """The body as JSON values."""
        return json.loads(self.body)

    def hex(self, *parts: str | bytes, algorithm: str = "sha256") -> str:
        """Return the HMAC over the joined parts, in lower-case hex."""
        return self.mac(*parts, algorithm=algorithm).hex()

    def base64(self, *parts: str | bytes, algorithm: str = "sha256") -> str:
        """Return the HMAC over the joined parts, in base64."""
        return base64.b64encode(self.mac(*parts, algorithm=algorithm)).decode()

    def mac(
        self,
        *parts: str | bytes,
        algorithm: str = "sha256",
        key: bytes | None = None,
    ) -> bytes:
        """Return the HMAC over the joined parts; ``key`` if not the secret's text."""
        signed = b"".join(p if isinstance(p, bytes) else p.encode() for p in parts)
        key = self.secret.encode() if key is None else key
        return hmac.new(key, signed, getattr(hashlib, algorithm)).digest()

    def send(
        self,
        headers: Mapping[str, str],
        *,
        body: bytes | None = None,
        query: str = "",
    ) -> Delivery:
        """Return the request with ``headers``; ``body`` if signing changed it."""
        return Delivery(
            headers={"Content-Type": self.media_type, **headers},
            body=self.body if body is None else body,
            query=query,
        )
