"""Bitbucket Cloud: webhooks of a repository or a workspace.

Set up: Repository settings > Webhooks > Add webhook, with a secret.
Signed: the raw body, HMAC-SHA256, hex after ``sha256=``, X-Hub-Signature.
Retries: two, on 5xx and time-outs; an answer is wanted within 10 s.
Success: any 2xx.
Delivery id: X-Request-UUID.
Not protected: neither a time, the delivery id nor the kind (X-Event-Key) is
  signed: a captured body can be replayed; ``identity = "body"`` closes that.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Header, Hmac, Sender, walk


def _thread(message: Message) -> str | None:
    for path in ("pullrequest.id", "issue.id"):
        number = walk(message.data, path)
        if number is not None:
            return f"{walk(message.data, 'repository.full_name')}#{number}"
    return None


SENDER = Sender(
    proof=Hmac(signature=Header("x-hub-signature"), prefix="sha256="),
    delivery_id=Header("x-request-uuid"),
    kind=Header("x-event-key"),
    occurred_at="pullrequest.updated_on",
    tenant="repository.workspace.slug",
    actor="actor.uuid",
    thread=_thread,
    facts={
        "repository": "repository.full_name",
        "branch": "pullrequest.destination.branch.name",
        "state": "pullrequest.state",
    },
    headers=("x-event-key", "x-hook-uuid"),
    signs_id=False,
)
