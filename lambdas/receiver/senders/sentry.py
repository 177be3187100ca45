"""Sentry: webhooks of an internal or public integration.

Set up: Settings > Custom Integrations > the integration > Webhook URL; the
  secret is its Client Secret.
Signed: the raw body, HMAC-SHA256, hex, Sentry-Hook-Signature.
Retries: none; repeated failures switch the webhook off. An answer is wanted
  within 1 s: keep a receiver warm.
Success: any 2xx.
Delivery id: Request-ID.
Not protected: neither a time nor the delivery id nor the resource is signed: a
  captured body can be replayed; ``identity = "body"`` closes that.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Header, Hmac, Sender, walk

_RESOURCE = Header("sentry-hook-resource")


def _kind(message: Message) -> str | None:
    resource, action = _RESOURCE(message), walk(message.data, "action")
    return f"{resource}.{action}" if resource and isinstance(action, str) else resource


SENDER = Sender(
    proof=Hmac(signature=Header("sentry-hook-signature")),
    delivery_id=Header("request-id"),
    kind=_kind,
    occurred_at=Header("sentry-hook-timestamp"),
    tenant="installation.uuid",
    actor="actor.id",
    thread="data.issue.id",
    facts={
        "action": "action",
        "project": "data.issue.project.slug",
        "level": "data.issue.level",
        "status": "data.issue.status",
        "rule": "data.triggered_rule",
    },
    headers=("sentry-hook-resource",),
    body="any",  # some come without one, as JSON all the same
    gives_up_after_seconds=1,
    retries=False,
    signs_id=False,
)
