"""Gogs: webhooks of repositories and organisations.

Set up: Settings > Webhooks > Add Webhook > Gogs; content type application/json;
  the secret is the source's.
Signed: the raw body, HMAC-SHA256, hex, X-Gogs-Signature.
Retries: none; redeliver by hand. An answer is wanted within 5 s.
Success: any 2xx.
Delivery id: X-Gogs-Delivery.
Not protected: neither a time, the delivery id nor the kind (X-Gogs-Event) is
  signed: a captured body can be replayed; ``identity = "body"`` closes that.
"""

from __future__ import annotations

from lambdas.receiver.senders import Header, Hmac, Sender
from lambdas.receiver.senders.github import kind_by, thread

SENDER = Sender(
    proof=Hmac(signature=Header("x-gogs-signature")),
    delivery_id=Header("x-gogs-delivery"),
    kind=kind_by("x-gogs-event"),
    tenant="repository.owner.login",
    actor="sender.login",
    thread=thread,
    facts={"action": "action", "repository": "repository.full_name", "ref": "ref"},
    headers=("x-gogs-event",),
    gives_up_after_seconds=5,
    retries=False,
    signs_id=False,
)
