"""Twilio: messages, calls and status callbacks of an account.

Set up: Phone Numbers > the number > Webhook, or a callback address of your own
  API calls; the secret is the account's Auth Token. ``public_url`` is the address
  as it is written there.
Signed: the address with its query, then each form field, sorted, name and value;
  of JSON its SHA-256, ``bodySHA256`` of the query. HMAC-SHA1, base64,
  X-Twilio-Signature (HMAC-SHA256 with a shared key). With and without the port,
  and either spelling of ``'``, hold.
Retries: once at most, to a fallback address; an answer is wanted within 15 s.
Success: 200 with an empty TwiML document.
Delivery id: I-Twilio-Idempotency-Token, or a hash of all that was said.
Not protected: neither a time nor the delivery id is signed: a captured request
  can be replayed under a new id; ``identity = "body"`` closes that. Fields are
  joined without marks: letters may move between neighbouring names and values.
"""

from __future__ import annotations

import hashlib
import json

from lambdas.receiver.addresses import Twilio
from lambdas.receiver.places import Message
from lambdas.receiver.senders import Answer, Header, Sender, walk

_NOTHING_TO_SAY = '<?xml version="1.0" encoding="UTF-8"?><Response/>'


def _id(message: Message) -> str:
    token = Header("i-twilio-idempotency-token")(message)
    if token:
        return token
    said = json.dumps([dict(message.arguments), message.data], sort_keys=True)
    return f"said-{hashlib.sha256(said.encode()).hexdigest()}"


def _kind(message: Message) -> str | None:
    for name, what in (("MessageStatus", "message"), ("SmsStatus", "message")):
        if status := walk(message.data, name):
            return f"{what}.{status}"
    if status := walk(message.data, "CallStatus"):
        return f"call.{status}"
    return "callback" if message.data else None


SENDER = Sender(
    proof=Twilio(),
    delivery_id=_id,
    kind=_kind,
    tenant="AccountSid",
    actor="From",
    thread=lambda message: (
        walk(message.data, "MessageSid") or walk(message.data, "CallSid")
    ),
    facts={"from": "From", "to": "To", "digits": "Digits", "status": "CallStatus"},
    methods=("POST", "GET"),
    success=lambda _: Answer(body=_NOTHING_TO_SAY, media_type="text/xml"),
    gives_up_after_seconds=15,
    retries=False,
    signs_url=True,
    signs_id=False,
)
