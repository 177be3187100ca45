"""Standard Webhooks: any sender that follows the specification.

Set up: at the sender, add an endpoint; the secret is what it shows, with or
  without ``whsec_``, or a public key, ``whpk_...``: then ``public_key = true``.
Signed: webhook-id, ``.``, webhook-timestamp, ``.`` and the raw body,
  HMAC-SHA256, base64, each ``v1,`` of webhook-signature, or Ed25519, each ``v1a,``;
  300 s on both sides.
Retries: the specification's example is nine over 75 h; an answer within 15 s.
Success: any 2xx; 410 disables the endpoint.
Delivery id: webhook-id, which is signed.
Not protected: nothing known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lambdas.receiver.public_keys import Signed, as_whpk
from lambdas.receiver.schemes import Key, Part
from lambdas.receiver.senders import (
    BODY,
    TIME,
    AnyOf,
    Body,
    Header,
    Hmac,
    Request,
    Sender,
    Time,
    as_whsec,
)
from lambdas.shared.errors import Code, Misconfigured, Rejected
from lambdas.shared.fleet import Source


def _dotless(name: str) -> Part:
    def part(request: Request) -> bytes:
        value = request.header(name)
        # Dots separate what is signed: id "a.1" at time 2 reads like "a" at 1.2.
        if not value or "." in value:
            raise Rejected(Code.BAD_SIGNATURE, f"{name} is missing or holds a dot")
        return value.encode("utf-8", "surrogatepass")

    return part


def proof(brand: str = "webhook", key: Key = as_whsec) -> Hmac:
    """Return the proof whose headers begin with ``brand``."""
    return Hmac(**_parts(brand), prefix="v1,", key=key)


def _parts(brand: str) -> dict[str, Any]:
    return {
        "signature": Header(f"{brand}-signature"),
        "signed": (_dotless(f"{brand}-id"), b".", TIME, b".", BODY),
        "separator": " ",
        "encoding": "base64",
        "time": Time(place=Header(f"{brand}-timestamp")),
    }


def _shared(secret: str) -> bytes | None:
    # A public key is no secret: who knows it must not sign with it.
    return None if secret.startswith("whpk_") else as_whsec(secret)


SENDER = Sender(
    proof=AnyOf(
        (Signed(**_parts("webhook"), prefix="v1a,", key=as_whpk), proof(key=_shared))
    ),
    delivery_id=Header("webhook-id"),
    kind=Body("type", default="event"),
    occurred_at="timestamp",
    thread="data.id",
    facts={"type": "type"},
    gives_up_after_seconds=15,
    options={"public_key": "true where the secret is a public key, whpk_..."},
    forms={"public_key": "boolean"},
)


def sender(source: Source) -> Sender:
    """Return the sender, with what a key pair needs where the source has one."""
    is_pair = source.options.get("public_key", False)
    if not isinstance(is_pair, bool):
        raise Misconfigured(f"source {source.name}: public_key: want true or false")
    return replace(SENDER, needs="senders") if is_pair else SENDER
