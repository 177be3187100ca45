"""Microsoft Graph: change notifications; several a request.

Set up: by API (POST /subscriptions), with ``clientState`` = the secret.
Signed: nothing; the secret itself is the ``clientState`` of every notification.
Retries: for up to 4 h, backing off; an answer is wanted within 3 s.
Success: 202; ``validationToken`` is echoed as plain text.
Delivery id: ``id`` of each notification, or where there is none, what changed
  (subscription, change, resource and its ETag).
Not protected: whoever reads one request can make others; any time, any body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Answer, Request, Sender, Token, walk


def _notifications(data: Any) -> list[Any]:
    found = walk(data, "value")
    return found if isinstance(found, list) else []


def _state(message: Message) -> object:
    states = [walk(each, "clientState") for each in _notifications(message.data)]
    # One that knows the secret does not vouch for its neighbours.
    return states[0] if states and all(s == states[0] for s in states) else None


def _split(data: Any) -> Iterable[Any]:
    return _notifications(data)


def _id(message: Message) -> object:
    own = walk(message.data, "id")
    etag = (walk(message.data, "resourceData") or {}).get("@odata.etag")
    if own or not etag:
        return own
    paths = ("subscriptionId", "changeType", "resource")
    return ":".join([*(str(walk(message.data, path)) for path in paths), str(etag)])


def _greet(request: Request, _: Sequence[str]) -> Answer | None:
    token = request.arguments.get("validationToken")
    return Answer(body=token) if token else None


SENDER = Sender(
    proof=Token(place=_state),
    delivery_id=_id,
    kind=lambda message: (
        walk(message.data, "changeType") or walk(message.data, "lifecycleEvent")
    ),
    tenant="tenantId",
    thread="resource",
    facts={"change": "changeType", "subscription": "subscriptionId"},
    greet=_greet,
    split=_split,
    success=lambda _: Answer(status=202),
    gives_up_after_seconds=3,
)
