"""Clerk: events of users, organisations and sessions.

Set up: Configure > Webhooks > Add Endpoint; the secret is its signing secret
  (``whsec_...``).
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
    occurred_at="timestamp",
    tenant="instance_id",
    thread="data.id",
    facts={"object": "data.object", "type": "type"},
    gives_up_after_seconds=15,
)
