"""Discord: interactions and webhook events of an application.

Set up: Developer Portal > the application > General Information (Interactions
  Endpoint URL) and Webhooks (Endpoint URL), the same address for both; the
  source's secret is the application's Public Key. Store it first: saving the
  address probes it, with right and with wrong signatures.
Signed: X-Signature-Timestamp and the raw body, Ed25519, hex, X-Signature-Ed25519.
Retries: interactions never, webhook events for 10 min. An answer is wanted
  within 3 s.
Success: interactions are answered "deferred", webhook events with 204; an agent
  follows up with the interaction's token.
Delivery id: ``id`` of an interaction; webhook events have none: a hash of what
  they say, their time included.
Not protected: the time is signed, but Discord names no window (yours may be
  ``tolerance_seconds``): a captured request can be sent again, to no effect while
  the ledger remembers its id.
"""

from __future__ import annotations

import hashlib
import json

from lambdas.receiver.places import Message
from lambdas.receiver.public_keys import Signed
from lambdas.receiver.senders import (
    BODY,
    TIME,
    Answer,
    Header,
    Request,
    Sender,
    Time,
    json_answer,
    walk,
)

_KINDS = {2: "command", 3: "component", 4: "autocomplete", 5: "modal"}
# What each kind hears at once: deferred answer, deferred update, no choices.
_DEFERRED = {
    2: {"type": 5},
    3: {"type": 6},
    4: {"type": 8, "data": {"choices": []}},
    5: {"type": 5},
}


def _is_event(message: Message | Request) -> bool:
    # Both number their types from the start; only one has an event's envelope.
    return isinstance(walk(message.data, "application_id"), str | int) and not walk(
        message.data, "token"
    )


def _type(message: Message | Request) -> int:
    found = walk(message.data, "type")
    return found if type(found) is int else -1


def _ping(request: Request) -> Answer | None:
    if _is_event(request) and _type(request) == 0:
        return Answer(status=204)
    return (
        json_answer({"type": 1})
        if _type(request) == 1 and not _is_event(request)
        else None
    )


def _kind(message: Message) -> object:
    if _is_event(message):
        return walk(message.data, "event.type")
    return _KINDS.get(_type(message))


def _id(message: Message) -> object:
    if not _is_event(message):
        return walk(message.data, "id")
    text = json.dumps(message.data, sort_keys=True)
    return f"event-{hashlib.sha256(text.encode()).hexdigest()}"


def _success(request: Request) -> Answer:
    if _is_event(request):
        return Answer(status=204)
    return json_answer(_DEFERRED[_type(request)])


SENDER = Sender(
    proof=Signed(
        signature=Header("x-signature-ed25519"),
        signed=(TIME, BODY),
        time=Time(place=Header("x-signature-timestamp"), tolerance_seconds=None),
    ),
    delivery_id=_id,
    kind=_kind,
    occurred_at="event.timestamp",
    tenant="guild_id",
    actor=lambda message: (
        walk(message.data, "member.user.id") or walk(message.data, "user.id")
    ),
    thread="channel_id",
    facts={
        "command": "data.name",
        "custom_id": "data.custom_id",
        "guild": "guild_id",
        "channel": "channel_id",
    },
    reply=_ping,
    success=_success,
    gives_up_after_seconds=3,
    retries=False,
    needs="senders",
)
