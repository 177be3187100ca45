"""Bitbucket Server: webhooks of a Data Center repository or project.

Set up: Repository settings > Webhooks > Create webhook, with a secret.
Signed: the raw body, HMAC-SHA256, hex after ``sha256=``, X-Hub-Signature.
Retries: none; a failing webhook is paused. An answer is wanted within 20 s.
Success: any 2xx; its connection test is answered, not stored.
Delivery id: X-Request-Id.
Not protected: neither a time, the delivery id nor the kind (X-Event-Key) is
  signed: a captured body can be replayed; ``identity = "body"`` closes that.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Answer, Header, Hmac, Request, Sender, walk


def _repository(message: Message) -> str | None:
    for path in ("repository", "pullRequest.toRef.repository"):
        slug = walk(message.data, f"{path}.slug")
        if slug is not None:
            return f"{walk(message.data, f'{path}.project.key')}/{slug}"
    return None


def _thread(message: Message) -> str | None:
    number = walk(message.data, "pullRequest.id")
    return None if number is None else f"{_repository(message)}#{number}"


def _test(request: Request) -> Answer | None:
    return Answer() if walk(request.data, "test") is True else None


SENDER = Sender(
    proof=Hmac(signature=Header("x-hub-signature"), prefix="sha256="),
    delivery_id=Header("x-request-id"),
    kind=Header("x-event-key"),
    occurred_at="date",
    actor="actor.name",
    thread=_thread,
    facts={
        "repository": _repository,
        "branch": "pullRequest.toRef.displayId",
        "state": "pullRequest.state",
    },
    headers=("x-event-key",),
    reply=_test,
    gives_up_after_seconds=20,
    retries=False,
    signs_id=False,
)
