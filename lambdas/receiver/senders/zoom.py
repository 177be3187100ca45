"""Zoom: event subscriptions of an app.

Set up: marketplace.zoom.us > the app > Features > Event Subscriptions; the
  secret is the app's Secret Token; then Validate.
Signed: ``v0:``, x-zm-request-timestamp, ``:`` and the raw body, HMAC-SHA256, hex
  after ``v0=``, x-zm-signature; 300 s.
Retries: three (5 min, 30 min, 90 min); an answer is wanted within 3 s.
Success: any 2xx.
Delivery id: none; made of what is signed: the event, its ``event_ts`` and the
  object's uuid or id.
Not protected: the validation request is answered without a signature too (with
  one, it must be right), but only for tokens of letters and digits: for others
  it would sign what a forger asks for.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence

from lambdas.receiver.places import Message
from lambdas.receiver.senders import (
    BODY,
    TIME,
    Answer,
    Header,
    Hmac,
    Request,
    Sender,
    Time,
    json_answer,
    walk,
)

# Never a colon: "v0:<time>:<body>" as a token would yield a signature of it.
_TOKEN = re.compile(r"[A-Za-z0-9_-]{8,64}")


_PROOF = Hmac(
    signature=Header("x-zm-signature"),
    signed=(b"v0:", TIME, b":", BODY),
    prefix="v0=",
    time=Time(place=Header("x-zm-request-timestamp")),
)


def _greet(request: Request, secrets: Sequence[str]) -> Answer | None:
    # Not proven: nothing large is read.
    if len(request.body) > 4096 or b"endpoint.url_validation" not in request.body:
        return None
    token = walk(request.data, "payload.plainToken")
    is_asked = walk(request.data, "event") == "endpoint.url_validation"
    if not is_asked or not isinstance(token, str) or not _TOKEN.fullmatch(token):
        return None
    signed = request.header("x-zm-signature")
    which = _PROOF.verify(request, secrets, request.received_at) if signed else 0
    digest = hmac.digest(secrets[which].encode(), token.encode(), hashlib.sha256)
    return json_answer({"plainToken": token, "encryptedToken": digest.hex()})


def _id(message: Message) -> str | None:
    about = walk(message.data, "payload.object") or {}
    words = [walk(message.data, "event"), walk(message.data, "event_ts")]
    words.append(walk(about, "uuid") or walk(about, "id"))
    return ":".join(map(str, words)) if all(words) else None


SENDER = Sender(
    proof=_PROOF,
    delivery_id=_id,
    kind="event",
    occurred_at="event_ts",
    tenant="payload.account_id",
    actor="payload.operator_id",
    thread="payload.object.uuid",
    facts={"topic": "payload.object.topic", "type": "payload.object.type"},
    greet=_greet,
    gives_up_after_seconds=3,
)
