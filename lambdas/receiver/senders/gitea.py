"""Gitea: webhooks of repositories and organisations.

Set up: Settings > Webhooks > Add Webhook > Gitea; content type application/json;
  the secret is the source's.
Signed: the raw body, HMAC-SHA256, hex, X-Gitea-Signature.
Retries: none; redeliver by hand. An answer is wanted within 5 s.
Success: any 2xx.
Delivery id: X-Gitea-Delivery.
Not protected: neither a time, the delivery id nor the kind (X-Gitea-Event) is
  signed: a captured body can be replayed; ``identity = "body"`` closes that.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Header, Hmac, Sender, walk

_EVENT = Header("x-gitea-event")


def _kind(message: Message) -> str | None:
    event, action = _EVENT(message), walk(message.data, "action")
    return f"{event}.{action}" if event and isinstance(action, str) else event


def _thread(message: Message) -> str | None:
    for path in ("number", "issue.number", "pull_request.number"):
        number = walk(message.data, path)
        if number is not None:
            return f"{walk(message.data, 'repository.full_name')}#{number}"
    return None


SENDER = Sender(
    proof=Hmac(signature=Header("x-gitea-signature")),
    delivery_id=Header("x-gitea-delivery"),
    kind=_kind,
    tenant="repository.owner.login",
    actor="sender.login",
    thread=_thread,
    facts={"action": "action", "repository": "repository.full_name", "ref": "ref"},
    headers=("x-gitea-event",),
    gives_up_after_seconds=5,
    retries=False,
    signs_id=False,
)
