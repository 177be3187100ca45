"""Square: webhook subscriptions of an application.

Set up: Developer Dashboard > the application > Webhooks > Subscriptions; the
  secret is the subscription's Signature Key. ``public_url`` is the address as it
  is written there, to the letter.
Signed: that address and the raw body, HMAC-SHA256, base64,
  x-square-hmacsha256-signature.
Retries: for 24 h, backing off; an answer is wanted within 10 s.
Success: any 2xx.
Delivery id: ``event_id``, which is signed.
Not protected: no time is signed: a captured body can be sent again, to no
  effect while the ledger remembers its id.
"""

from __future__ import annotations

from lambdas.receiver.senders import BODY, URL, Header, Hmac, Sender

SENDER = Sender(
    proof=Hmac(
        signature=Header("x-square-hmacsha256-signature"),
        signed=(URL, BODY),
        encoding="base64",
    ),
    delivery_id="event_id",
    kind="type",
    occurred_at="created_at",
    tenant="merchant_id",
    thread="data.id",
    facts={"type": "type", "location": "location_id", "object": "data.type"},
    signs_url=True,
)
