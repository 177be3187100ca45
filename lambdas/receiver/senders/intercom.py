"""Intercom: notifications of an app.

Set up: Developer Hub > the app > Webhooks; the secret is the app's client
  secret.
Signed: the raw body, HMAC-SHA1, hex after ``sha1=``, X-Hub-Signature.
Retries: a few within minutes; an answer is wanted within 5 s.
Success: any 2xx; its test (HEAD, or topic ``ping``) is answered, not stored.
Delivery id: ``id`` of the notification, which is signed.
Not protected: no time is signed: a captured body can be sent again, to no
  effect while the ledger remembers its id. SHA-1 is weak, if not yet for HMAC.
"""

from __future__ import annotations

from collections.abc import Sequence

from lambdas.receiver.senders import Answer, Header, Hmac, Request, Sender, walk


def _greet(request: Request, _: Sequence[str]) -> Answer | None:
    return Answer() if request.method == "HEAD" else None


def _ping(request: Request) -> Answer | None:
    return Answer() if walk(request.data, "topic") == "ping" else None


SENDER = Sender(
    proof=Hmac(signature=Header("x-hub-signature"), prefix="sha1=", algorithm="sha1"),
    delivery_id="id",
    kind="topic",
    occurred_at="created_at",
    tenant="app_id",
    actor="data.item.source.author.id",
    thread="data.item.id",
    facts={"topic": "topic", "type": "data.item.type", "state": "data.item.state"},
    greet=_greet,
    reply=_ping,
    gives_up_after_seconds=5,
)
