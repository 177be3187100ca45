"""Meta: webhooks of an app (WhatsApp, Messenger, Instagram); several events a request.

Set up: developers.facebook.com > the app > Webhooks; the secret is the App
  Secret, the verify token is ``verify_token`` of the source.
Signed: the raw body, HMAC-SHA256, hex after ``sha256=``, X-Hub-Signature-256.
Retries: for up to 36 h, backing off; answer within 5 s.
Success: 200; the subscription's ``hub.challenge`` is echoed as plain text.
Delivery id: none; choose ``identity = "body"``: each change of a request is an
  event of its own, with its entry's id and time, however they are put together.
Not protected: no time is signed; a replay is the same body. The verify token
  only says who may subscribe the address.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from typing import Any

from lambdas.receiver.senders import (
    Answer,
    Header,
    Hmac,
    Message,
    Request,
    Sender,
    first,
    walk,
)
from lambdas.shared.errors import Code, Rejected


def _greet(request: Request, _: Sequence[str]) -> Answer | None:
    if request.method != "GET":
        return None
    wanted = str(request.source.options.get("verify_token", ""))
    given = request.arguments.get("hub.verify_token", "")
    if not wanted or not hmac.compare_digest(wanted.encode(), given.encode()):
        raise Rejected(Code.BAD_SIGNATURE, "another verify token")
    return Answer(body=request.arguments.get("hub.challenge", ""))


def _split(data: Any) -> Iterator[Any]:
    """Yield each change with its entry's id and time around it, or the whole."""
    changes = _changes(data)
    one = next(changes, None)
    yield data if one is None else one
    yield from changes


def _changes(data: Any) -> Iterator[Any]:
    entries = walk(data, "entry")
    for entry in entries if isinstance(entries, list) else ():
        told = {"object": walk(data, "object")}
        told |= {key: walk(entry, key) for key in ("id", "time")}
        for name in ("changes", "messaging"):
            changes = walk(entry, name)
            for change in changes if isinstance(changes, list) else ():
                if isinstance(change, dict):
                    yield {**told, "field": name, **change}


def _kind(message: Message) -> str | None:
    about, field = walk(message.data, "object"), walk(message.data, "field")
    return f"{about}.{field}" if about and field else about


_FROM = first("value.messages.0.from", "sender.id", "value.from.id")

SENDER = Sender(
    proof=Hmac(signature=Header("x-hub-signature-256"), prefix="sha256="),
    delivery_id=None,
    kind=_kind,
    occurred_at=first("timestamp", "time"),
    tenant="id",
    actor=_FROM,
    thread=_FROM,
    facts={
        "object": "object",
        "field": "field",
        "message": "value.messages.0.type",
        "status": "value.statuses.0.status",
    },
    methods=("GET", "POST"),
    greet=_greet,
    split=_split,
    gives_up_after_seconds=5,
    options={"verify_token": "the verify token that was entered at Meta"},
)
