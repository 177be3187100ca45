"""Adyen: notifications of payments, and of the platform.

Set up: Customer Area > Developers > Webhooks > Create; the secret is the HMAC
  key that is generated there, in hex.
Signed: HMAC-SHA256, base64, under the decoded key. Of a payment eight fields
  (pspReference, originalReference, merchantAccountCode, merchantReference,
  amount, currency, eventCode, success), in each item's
  ``additionalData.hmacSignature``; of the platform's the raw body, HmacSignature.
Retries: for 7 days, three at once, then queued and backing off; an answer is
  wanted within 10 s.
Success: 2xx with the text ``[accepted]``.
Delivery id: pspReference, eventCode and success of each payment, which are
  signed; the platform's have none: choose ``identity = "body"``.
Not protected: what else a payment says, and its time: a captured item can be sent
  again with other words around it, under the same id.
"""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from lambdas.receiver.schemes import keys
from lambdas.receiver.senders import (
    Answer,
    FirstSpoken,
    Header,
    Hmac,
    Message,
    Request,
    Sender,
    as_hex,
    first,
    walk,
)
from lambdas.shared.errors import Code, Rejected

_SIGNED = (
    "pspReference",
    "originalReference",
    "merchantAccountCode",
    "merchantReference",
    "amount.value",
    "amount.currency",
    "eventCode",
    "success",
)


def _items(data: Any) -> Iterator[Any]:
    # One by one: nothing is proven yet, and the first may end it.
    wrapped = walk(data, "notificationItems")
    for each in wrapped if isinstance(wrapped, list) else ():
        yield walk(each, "NotificationRequestItem")


def _text(item: Any) -> bytes:
    found = (walk(item, path) for path in _SIGNED)
    words = ["" if word is None else str(word) for word in found]
    # Nothing escapes a colon: beside one in the free text, fields could change places.
    if any(":" in word for word in words[:3] + words[4:]):
        raise Rejected(Code.BAD_SIGNATURE, "a field of an item holds a colon")
    return ":".join(words).encode("utf-8", "surrogatepass")


class _SignedItems:
    """Each item's own signature; one that proves itself vouches for no other."""

    def speaks(self, request: Request) -> bool:
        return bool(walk(request.data, "notificationItems.0"))

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:  # noqa: ARG002 - no time
        found = {self._one(item, secrets) for item in _items(request.data)}
        if not found:
            raise Rejected(Code.BAD_SIGNATURE, "there is no signature")
        return max(found)

    def _one(self, item: Any, secrets: Sequence[str]) -> int:
        given = walk(item, "additionalData.hmacSignature")
        given = given if isinstance(given, str) else ""
        for index, key in keys(secrets, as_hex):
            wanted = base64.b64encode(hmac.digest(key, _text(item), "sha256"))
            if hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted):
                return index
        raise Rejected(Code.BAD_SIGNATURE, "an item's signature does not match")


def _split(data: Any) -> Iterator[Any]:
    return _items(data) if walk(data, "notificationItems.0") else iter([data])


def _id(message: Message) -> str | None:
    words = [walk(message.data, p) for p in ("pspReference", "eventCode", "success")]
    return ":".join(map(str, words)) if all(words) else None


SENDER = Sender(
    proof=FirstSpoken(
        (
            Hmac(signature=Header("hmacsignature"), encoding="base64", key=as_hex),
            _SignedItems(),
        )
    ),
    delivery_id=_id,
    kind=first("eventCode", "type"),
    occurred_at=first("eventDate", "timestamp"),
    tenant=first("merchantAccountCode", "data.balancePlatform"),
    thread=first("originalReference", "pspReference", "data.id"),
    facts={
        "success": "success",
        "amount": "amount.value",
        "currency": "amount.currency",
        "reference": "merchantReference",
    },
    split=_split,
    success=lambda _: Answer(body="[accepted]"),
)
