"""Paddle: notifications of Paddle Billing.

Set up: Developer Tools > Notifications > New destination; the secret is its
  secret key (``pdl_ntfset_...``), the whole of it.
Signed: the time, ``:`` and the raw body, HMAC-SHA256, hex, each ``h1=`` of
  Paddle-Signature; 5 s, which ``tolerance_seconds`` may widen.
Retries: 60 over 3 days (live); an answer is wanted within 5 s.
Success: any 2xx.
Delivery id: ``event_id``, which is signed.
Not protected: nothing known.
"""

from __future__ import annotations

from lambdas.receiver.senders import BODY, TIME, Header, Hmac, Sender, Time

SENDER = Sender(
    proof=Hmac(
        signature=Header("paddle-signature"),
        signed=(TIME, b":", BODY),
        prefix="h1=",
        separator=";",
        time=Time(field="ts", tolerance_seconds=5),
    ),
    delivery_id="event_id",
    kind="event_type",
    occurred_at="occurred_at",
    actor="data.customer_id",
    thread="data.id",
    facts={
        "status": "data.status",
        "currency": "data.currency_code",
        "customer": "data.customer_id",
        "origin": "data.origin",
    },
    gives_up_after_seconds=5,
)
