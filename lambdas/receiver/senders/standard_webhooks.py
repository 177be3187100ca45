"""Standard Webhooks: any sender that follows the specification.

Set up: at the sender, add an endpoint; the secret is what it shows, with or
  without ``whsec_``.
Signed: webhook-id, ``.``, webhook-timestamp, ``.`` and the raw body,
  HMAC-SHA256, base64, each ``v1,`` of webhook-signature; 300 s on both sides.
Retries: the specification's example is nine over 75 h; an answer within 15 s.
Success: any 2xx; 410 disables the endpoint.
Delivery id: webhook-id, which is signed.
Not protected: nothing known.
"""

from __future__ import annotations

from lambdas.receiver.schemes import Key, Part
from lambdas.receiver.senders import (
    BODY,
    TIME,
    Body,
    Header,
    Hmac,
    Request,
    Sender,
    Time,
    as_whsec,
)
from lambdas.shared.errors import Code, Rejected


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
    return Hmac(
        signature=Header(f"{brand}-signature"),
        signed=(_dotless(f"{brand}-id"), b".", TIME, b".", BODY),
        prefix="v1,",
        separator=" ",
        encoding="base64",
        key=key,
        time=Time(place=Header(f"{brand}-timestamp")),
    )


SENDER = Sender(
    proof=proof(),
    delivery_id=Header("webhook-id"),
    kind=Body("type", default="event"),
    occurred_at="timestamp",
    thread="data.id",
    facts={"type": "type"},
    gives_up_after_seconds=15,
)
