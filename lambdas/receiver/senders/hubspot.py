"""HubSpot: webhook subscriptions and workflow actions of an app.

Set up: the app > Webhooks; the secret is the app's client secret. ``public_url``
  is the address as it is written there.
Signed: v3: method, address, raw body and X-HubSpot-Request-Timestamp (ms),
  HMAC-SHA256, base64, X-HubSpot-Signature-v3; 300 s. v2: a plain SHA-256, hex,
  over secret, method, address and body; v1: over secret and body.
Retries: ten over 24 h; an answer is wanted within 5 s.
Success: any 2xx.
Delivery id: of each event of the request its subscription, ``eventId``,
  ``objectId`` and ``occurredAt``: HubSpot says that eventId alone is not unique.
Not protected: v1 and v2 sign no time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lambdas.receiver.addresses import PlainHash
from lambdas.receiver.places import Message
from lambdas.receiver.schemes import Part, as_text
from lambdas.receiver.senders import (
    BODY,
    METHOD,
    TIME,
    URL,
    AnyOf,
    FirstSpoken,
    Header,
    Hmac,
    Request,
    Sender,
    Time,
    walk,
)

# v3 signs the address with these decoded, and no others.
_DECODED = {"%3A": ":", "%2F": "/", "%3F": "?", "%40": "@", "%21": "!", "%24": "$"}
_DECODED |= {"%27": "'", "%28": "(", "%29": ")", "%2A": "*", "%2C": ",", "%3B": ";"}


def _decoded_url(request: Request) -> bytes:
    url = request.url
    for code, letter in _DECODED.items():
        url = url.replace(code, letter).replace(code.lower(), letter)
    return as_text(url)


def _v3(url: Part) -> Hmac:
    return Hmac(
        signature=Header("x-hubspot-signature-v3"),
        signed=(METHOD, url, BODY, TIME),
        encoding="base64",
        time=Time(place=Header("x-hubspot-request-timestamp"), unit="ms"),
    )


def _events(data: Any) -> Iterable[Any]:
    return data if isinstance(data, list) else [data]


def _id(message: Message) -> object:
    if walk(message.data, "eventId") is None:
        # A workflow's action calls once per enrolment.
        return walk(message.data, "callbackId")
    paths = ("portalId", "subscriptionId", "eventId", "objectId", "occurredAt")
    return "-".join(str(walk(message.data, path) or 0) for path in paths)


def _kind(message: Message) -> object:
    return walk(message.data, "subscriptionType") or (
        "action" if walk(message.data, "callbackId") else None
    )


SENDER = Sender(
    proof=FirstSpoken((AnyOf((_v3(URL), _v3(_decoded_url))), PlainHash())),
    delivery_id=_id,
    kind=_kind,
    occurred_at="occurredAt",
    tenant="portalId",
    actor="sourceId",
    thread="objectId",
    facts={
        "property": "propertyName",
        "value": "propertyValue",
        "change": "changeFlag",
        "source": "changeSource",
    },
    methods=("POST", "GET"),
    split=_events,
    gives_up_after_seconds=5,
    signs_url=True,
)
