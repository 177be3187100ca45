"""Signers: how each sender would sign a request, written apart from the verifiers.

One module per sender, named as the sender with ``_`` for ``-``::

    sign(draft) -> Delivery     required
    SIGNS_TIME_SECONDS = 300    the window, where the signature covers a time
    FUTURE_SECONDS = 60         the window's other side, where that is another
    COVERS_BODY = False         where the body may change and nobody would notice
    USUAL_EVENT = "..."         the sample to send when none is named
    SECRET_IS_MADE_BY_SENDER = True    where it cannot be chosen by you
    new_key(), public(key)      where it signs with a private key, the secret here
    HAS_SECRET = False          where the source is given no part of it, and
    serves(key, at, options)    what the sender publishes instead, by address
    OPTIONS = {...}             what the source's table must say, as an example

A new sender is one such module and a folder of samples; nothing else changes.
Nothing here may be imported by the receiver, nor import it: what both have in
common would be wrong on both sides at once.
"""

from __future__ import annotations

import importlib
import pkgutil
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from cli import samples
from cli.signers.draft import Delivery, Draft

__all__ = ["Delivery", "Draft", "Signer", "UnknownSenderError", "compose", "names"]

_NOT_SENDERS = {"draft", "keys"}


class UnknownSenderError(Exception):
    """Raised when no signer is written for a sender; the message lists those there."""


class Signer:
    """One sender's module, with its traits."""

    def __init__(self, sender: str) -> None:
        """Find the module of ``sender``.

        Raises:
            UnknownSenderError: there is none.
        """
        if sender not in names():
            raise UnknownSenderError(
                f"no signer for {sender!r}; there are: {', '.join(names())}"
            )
        self.sender = sender
        self._module = importlib.import_module(f"cli.signers.{_module(sender)}")

    @property
    def window_seconds(self) -> int | None:
        """How old a signed time may be; None where no time is signed."""
        return getattr(self._module, "SIGNS_TIME_SECONDS", None)

    @property
    def future_seconds(self) -> int | None:
        """How far ahead a signed time may be."""
        return getattr(self._module, "FUTURE_SECONDS", self.window_seconds)

    @property
    def covers_body(self) -> bool:
        """Whether a changed body breaks the signature."""
        return getattr(self._module, "COVERS_BODY", True)

    @property
    def makes_secret(self) -> bool:
        """Whether the sender makes up the secret itself; else you choose it."""
        return getattr(self._module, "SECRET_IS_MADE_BY_SENDER", False)

    @property
    def has_key_pair(self) -> bool:
        """Whether it signs with a private key, of which a source has the public."""
        return hasattr(self._module, "new_key")

    def new_key(self) -> str:
        """Make a private key to sign with."""
        key: str = self._module.new_key()
        return key

    def public(self, key: str) -> str:
        """Return the public part of ``key``, as a source's secret holds it."""
        part: str = self._module.public(key)
        return part

    @property
    def usual_event(self) -> str:
        """The sample to send when none is named: chosen, or the first by name."""
        return getattr(self._module, "USUAL_EVENT", samples.events(self.sender)[0])

    @property
    def has_secret(self) -> bool:
        """Whether the source holds anything; else keys are fetched."""
        return getattr(self._module, "HAS_SECRET", True)

    @property
    def options(self) -> Mapping[str, Any]:
        """What the source's table must say, as an example."""
        return getattr(self._module, "OPTIONS", {})

    def serves(
        self, key: str, at: datetime, options: Mapping[str, Any]
    ) -> Mapping[str, bytes]:
        """Return what the sender publishes of its ``key``, by address."""
        serves = getattr(self._module, "serves", None)
        return serves(key, at, options) if serves else {}

    def sign(self, draft: Draft) -> Delivery:
        """Return ``draft`` as the sender would put it on the wire."""
        delivery: Delivery = self._module.sign(draft)
        return delivery


def names() -> list[str]:
    """Return every sender that a signer is written for."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name.replace("_", "-") for name in found if name not in _NOT_SENDERS)


def compose(
    sender: str,
    event: str,
    *,
    secret: str,
    at: datetime,
    url: str = "",
    delivery_id: str | None = None,
    options: Mapping[str, Any] | None = None,
    tampered: bool = False,
) -> Delivery:
    """Return a signed sample of ``event``, under a fresh delivery id.

    ``tampered`` changes one byte of the body after signing; where the
    signature does not cover the body, it signs with another secret instead.

    Raises:
        UnknownSenderError: no signer is written for ``sender``.
        samples.UnknownEventError: the sender has no sample of that name.
    """
    signer = Signer(sender)
    delivery_id = delivery_id or str(uuid.uuid4())
    sample = samples.load(sender, event, delivery_id=delivery_id, at=at)
    draft = Draft(
        event=event,
        body=sample.body,
        media_type=sample.media_type,
        secret=secret,
        at=at,
        id=delivery_id,
        url=url,
        options=options or {},
    )
    if not tampered:
        return signer.sign(draft)
    if not signer.covers_body:
        other = signer.new_key() if signer.has_key_pair else _another(secret)
        return signer.sign(replace(draft, secret=other))
    signed = signer.sign(draft)
    return replace(signed, body=_with_one_byte_changed(signed.body))


def _another(secret: str) -> str:
    """Return another secret of the same form, be it text, hex or base64."""
    middle = len(secret) // 2
    other = "1" if secret[middle] == "0" else "0"
    return f"{secret[:middle]}{other}{secret[middle + 1 :]}"


def _with_one_byte_changed(body: bytes) -> bytes:
    """Change the last digit: in JSON and in forms alike the result still parses."""
    for position in range(len(body) - 1, -1, -1):
        if (digit := body[position]) in b"0123456789":
            other = b"2" if digit == ord("1") else b"1"
            return body[:position] + other + body[position + 1 :]
    return body + b" "


def _module(sender: str) -> str:
    return sender.replace("-", "_")
