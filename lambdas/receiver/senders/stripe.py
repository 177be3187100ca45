"""Stripe: events of an account or of connected accounts.

Set up: Developers > Webhooks > Add endpoint; the secret is the endpoint's
  signing secret, the whole ``whsec_...`` as it is shown.
Signed: the time, ``.`` and the raw body, HMAC-SHA256, hex, each ``v1=`` of
  Stripe-Signature; 300 s on both sides.
Retries: up to 3 days, backing off; test mode three times. Answer soon.
Success: any 2xx.
Delivery id: ``id`` of the event (``evt_...``).
Not protected: nothing known; events come in no order.
"""

from __future__ import annotations

from lambdas.receiver.senders import BODY, TIME, Header, Hmac, Sender, Time

SENDER = Sender(
    proof=Hmac(
        signature=Header("stripe-signature"),
        signed=(TIME, b".", BODY),
        prefix="v1=",
        separator=",",
        time=Time(field="t"),
    ),
    delivery_id="id",
    kind="type",
    occurred_at="created",
    tenant="account",
    thread="data.object.id",
    facts={
        "object": "data.object.object",
        "amount": "data.object.amount",
        "currency": "data.object.currency",
        "customer": "data.object.customer",
        "status": "data.object.status",
        "livemode": "livemode",
    },
)
