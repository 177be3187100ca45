"""Box: webhooks (version 2) of an app.

Set up: Developer Console > the app > Webhooks; generate both signature keys and
  store one. Box signs with both: to renew that one, rotate to the other first.
Signed: the raw body and Box-Delivery-Timestamp, HMAC-SHA256, base64,
  Box-Signature-Primary or Box-Signature-Secondary, by either key; 600 s.
Retries: up to ten in 2 h; an answer is wanted within 30 s.
Success: any 2xx.
Delivery id: ``id`` of the event, which is signed.
Not protected: nothing known.
"""

from __future__ import annotations

from lambdas.receiver.senders import (
    BODY,
    TIME,
    AnyOf,
    Header,
    Hmac,
    Request,
    Sender,
    Time,
)
from lambdas.shared.errors import Code, Rejected


def _version_1(request: Request) -> bytes:
    version = request.header("box-signature-version")
    algorithm = request.header("box-signature-algorithm")
    if (version, algorithm) != ("1", "HmacSHA256"):
        raise Rejected(Code.BAD_SIGNATURE, "not signature version 1, HmacSHA256")
    return b""


def _signed(rank: str) -> Hmac:
    return Hmac(
        signature=Header(f"box-signature-{rank}"),
        signed=(_version_1, BODY, TIME),
        encoding="base64",
        time=Time(
            place=Header("box-delivery-timestamp"),
            unit="rfc3339",
            tolerance_seconds=600,
        ),
    )


SENDER = Sender(
    proof=AnyOf((_signed("primary"), _signed("secondary"))),
    delivery_id="id",
    kind="trigger",
    occurred_at="created_at",
    actor="created_by.id",
    thread="source.id",
    facts={"type": "source.type", "name": "source.name", "webhook": "webhook.id"},
    headers=("box-delivery-id",),
    gives_up_after_seconds=30,
)
