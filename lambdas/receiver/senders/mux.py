"""Mux: webhooks of an environment.

Set up: Settings > Webhooks > Create new webhook; the secret is its signing
  secret.
Signed: the time, ``.`` and the raw body, HMAC-SHA256, hex, each ``v1=`` of
  Mux-Signature; 300 s.
Retries: for 24 h, backing off; an answer is wanted within 5 s.
Success: any 2xx.
Delivery id: ``id`` of the event, which is signed.
Not protected: nothing known.
"""

from __future__ import annotations

from lambdas.receiver.senders import BODY, TIME, Header, Hmac, Sender, Time

SENDER = Sender(
    proof=Hmac(
        signature=Header("mux-signature"),
        signed=(TIME, b".", BODY),
        prefix="v1=",
        separator=",",
        time=Time(field="t"),
    ),
    delivery_id="id",
    kind="type",
    occurred_at="created_at",
    tenant="environment.id",
    thread="object.id",
    facts={"object": "object.type", "status": "data.status"},
    gives_up_after_seconds=5,
)
