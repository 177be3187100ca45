"""OpenAI: events of a project (responses, batches, fine-tuning, realtime).

Set up: Settings > Project > Webhooks > Create; the secret is what is shown once.
Signed: as Standard Webhooks; a secret without ``whsec_`` is used as text.
Retries: up to 72 h, backing off; answer soon.
Success: any 2xx.
Delivery id: webhook-id, which is signed.
Not protected: nothing known.
"""

from __future__ import annotations

from lambdas.receiver.senders import Header, Sender, as_text, as_whsec
from lambdas.receiver.senders.standard_webhooks import proof


def _key(secret: str) -> bytes:
    return as_whsec(secret) if secret.startswith("whsec_") else as_text(secret)


SENDER = Sender(
    proof=proof(key=_key),
    delivery_id=Header("webhook-id"),
    kind="type",
    occurred_at="created_at",
    thread="data.id",
    facts={"type": "type"},
)
