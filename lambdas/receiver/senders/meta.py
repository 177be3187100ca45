"""Meta: webhooks of an app (WhatsApp, Messenger, Instagram, Pages).

Set up: developers.facebook.com > the app > Webhooks; the secret is the App
  Secret, the verify token is ``verify_token`` of the source.
Signed: the raw body, HMAC-SHA256, hex after ``sha256=``, X-Hub-Signature-256.
Retries: for up to 36 h, backing off; answer within 5 s.
Success: 200; the subscription's ``hub.challenge`` is echoed as plain text.
Delivery id: none; choose ``identity = "body"``.
Not protected: no time is signed; a replay is the same body. The verify token
  only says who may subscribe the address.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Answer, Header, Hmac, Request, Sender, walk
from lambdas.shared.errors import Code, Rejected


def _greet(request: Request, _: Sequence[str]) -> Answer | None:
    if request.method != "GET":
        return None
    wanted = str(request.source.options.get("verify_token", ""))
    given = request.arguments.get("hub.verify_token", "")
    if not wanted or not hmac.compare_digest(wanted.encode(), given.encode()):
        raise Rejected(Code.BAD_SIGNATURE, "another verify token")
    return Answer(body=request.arguments.get("hub.challenge", ""))


def _kind(message: Message) -> str | None:
    about = walk(message.data, "object")
    field = walk(message.data, "entry.0.changes.0.field")
    if not field and walk(message.data, "entry.0.messaging"):
        field = "messaging"
    return f"{about}.{field}" if about and field else about


SENDER = Sender(
    proof=Hmac(signature=Header("x-hub-signature-256"), prefix="sha256="),
    delivery_id=None,
    kind=_kind,
    occurred_at="entry.0.time",
    tenant="entry.0.id",
    actor="entry.0.changes.0.value.messages.0.from",
    thread="entry.0.changes.0.value.messages.0.from",
    facts={
        "object": "object",
        "field": "entry.0.changes.0.field",
        "message": "entry.0.changes.0.value.messages.0.type",
        "status": "entry.0.changes.0.value.statuses.0.status",
    },
    methods=("GET", "POST"),
    greet=_greet,
    gives_up_after_seconds=5,
    options={"verify_token": "the verify token that was entered at Meta"},
)
