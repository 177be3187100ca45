"""Zendesk: webhooks of triggers, automations and event subscriptions.

Set up: Admin Center > Apps and integrations > Webhooks > Create; the secret is
  shown by "Reveal secret". It looks like base64 and is used as text.
Signed: X-Zendesk-Webhook-Signature-Timestamp, as it is written, and the raw
  body, HMAC-SHA256, base64, X-Zendesk-Webhook-Signature; 300 s.
Retries: 409, 429, 503 and time-outs, up to five times; an answer is wanted
  within 12 s.
Success: any 2xx.
Delivery id: X-Zendesk-Webhook-Invocation-Id.
Not protected: the delivery id is not signed: within 300 s a captured body can be
  replayed under a new one; ``identity = "body"`` closes that.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import BODY, TIME, Header, Hmac, Sender, Time, walk


def _kind(message: Message) -> str:
    # A trigger sends whatever its author wrote, and needs no type.
    kind = walk(message.data, "type")
    return kind.removeprefix("zen:event-type:") if isinstance(kind, str) else "event"


SENDER = Sender(
    proof=Hmac(
        signature=Header("x-zendesk-webhook-signature"),
        signed=(TIME, BODY),
        encoding="base64",
        time=Time(place=Header("x-zendesk-webhook-signature-timestamp"), unit=None),
    ),
    delivery_id=Header("x-zendesk-webhook-invocation-id"),
    kind=_kind,
    occurred_at="time",
    tenant=Header("x-zendesk-account-id"),
    actor="detail.requester_id",
    thread="detail.id",
    facts={"status": "detail.status", "priority": "detail.priority"},
    headers=("x-zendesk-webhook-id",),
    body="any",
    gives_up_after_seconds=12,
    signs_id=False,
)
