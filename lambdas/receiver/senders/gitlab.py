"""GitLab: webhooks of projects and groups, and system hooks.

Set up: Settings > Webhooks > Add new webhook; the secret is the signing token
  (``whsec_...``) or the older secret token.
Signed: with a signing token as Standard Webhooks; with a secret token nothing:
  it comes in X-Gitlab-Token itself.
Retries: none; repeated failures switch the webhook off. An answer is wanted
  within 10 s.
Success: any 2xx.
Delivery id: webhook-id, which is signed; with a token Idempotency-Key or
  X-Gitlab-Event-UUID.
Not protected: with a secret token, whoever reads one request can make others.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import (
    FirstSpoken,
    Header,
    Sender,
    Token,
    as_whsec,
    walk,
)
from lambdas.receiver.senders.standard_webhooks import proof


def _key(secret: str) -> bytes | None:
    # The other kind of secret signs nothing, whatever a request pretends.
    return as_whsec(secret) if secret.startswith("whsec_") else None


def _id(message: Message) -> str | None:
    if message.headers.get("webhook-signature"):
        return Header("webhook-id")(message)
    names = ("idempotency-key", "x-gitlab-event-uuid")
    return next(filter(None, (Header(name)(message) for name in names)), None)


def _kind(message: Message) -> object:
    kind = walk(message.data, "object_kind") or walk(message.data, "event_name")
    action = walk(message.data, "object_attributes.action")
    return f"{kind}.{action}" if kind and isinstance(action, str) else kind


def _thread(message: Message) -> str | None:
    for path in ("object_attributes.iid", "merge_request.iid", "issue.iid"):
        number = walk(message.data, path)
        if number is not None:
            return f"{walk(message.data, 'project.path_with_namespace')}#{number}"
    return None


SENDER = Sender(
    proof=FirstSpoken((proof(key=_key), Token(place=Header("x-gitlab-token")))),
    delivery_id=_id,
    kind=_kind,
    occurred_at="object_attributes.updated_at",
    tenant=Header("x-gitlab-instance"),
    actor=lambda message: (
        walk(message.data, "user.username") or walk(message.data, "user_username")
    ),
    thread=_thread,
    facts={
        "action": "object_attributes.action",
        "repository": "project.path_with_namespace",
        "ref": "ref",
        "branch": "object_attributes.target_branch",
        "status": "object_attributes.status",
        "state": "object_attributes.state",
    },
    headers=("x-gitlab-event",),
    retries=False,
)
