"""Resend: events of e-mails, contacts and domains.

Set up: Webhooks > Add Webhook; the secret is its signing secret (``whsec_...``).
Signed: as Svix.
Retries: as Svix, eight over about 28 h; an answer is wanted within 15 s.
Success: any 2xx.
Delivery id: svix-id, which is signed.
Not protected: nothing known.
"""

from __future__ import annotations

from lambdas.receiver.senders import Header, Sender
from lambdas.receiver.senders.standard_webhooks import proof

SENDER = Sender(
    proof=proof("svix"),
    delivery_id=Header("svix-id"),
    kind="type",
    occurred_at="created_at",
    thread="data.email_id",
    facts={"type": "type", "bounce": "data.bounce.type", "to": "data.to.0"},
    gives_up_after_seconds=15,
)
