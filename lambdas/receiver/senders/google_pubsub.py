"""Google Pub/Sub: push subscriptions (Gmail, Calendar, Cloud Storage and others).

Set up: create a push subscription with authentication on; ``service_account`` in
  the source's table is its service account's address, ``audience`` its audience
  (where you chose none, the push endpoint, to the letter).
Signed: a token in Authorization, RS256 by Google's keys, for an hour: issuer,
  audience, the account's verified address.
Retries: until the subscription's retention ends (7 days); an answer is wanted
  within its acknowledgement deadline (10 s).
Success: any 2xx.
Delivery id: ``message.messageId``.
Not protected: the token does not cover the body: whoever reads one request can
  make others for up to an hour.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lambdas.receiver.places import Message
from lambdas.receiver.schemes import Alone
from lambdas.receiver.senders import Request, Sender, walk
from lambdas.receiver.tokens import claims_of_bearer
from lambdas.shared.errors import Code, Rejected
from lambdas.shared.fetch import pin

_KEYS = "https://www.googleapis.com/oauth2/v3/certs"
_PIN = pin(r"www\.googleapis\.com", r"/oauth2/v3/certs")
_ISSUERS = ("https://accounts.google.com", "accounts.google.com")


class _Proof(Alone):
    """Google's own; see the module."""

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:  # noqa: ARG002 - keys are fetched
        """See :meth:`lambdas.receiver.schemes.Proof.verify`."""
        options = request.source.options
        claims = claims_of_bearer(request, _KEYS, _PIN, now)
        if claims.get("iss") not in _ISSUERS:
            raise Rejected(Code.BAD_SIGNATURE, "another issuer")
        if claims.get("aud") != options["audience"]:
            raise Rejected(Code.BAD_SIGNATURE, "another audience")
        if claims.get("email") != options["service_account"]:
            raise Rejected(Code.BAD_SIGNATURE, "another account")
        if claims.get("email_verified") is not True:
            raise Rejected(Code.BAD_SIGNATURE, "an account that is not verified")
        return 0


def _kind(message: Message) -> str | None:
    found = walk(message.data, "message.attributes.eventType")
    return (
        str(found) if found else ("message" if walk(message.data, "message") else None)
    )


def _told(path: str) -> Any:
    """Return the place of a value inside the message's own data (Gmail's JSON)."""

    def place(message: Message) -> Any:
        text = base64.b64decode(walk(message.data, "message.data"))
        try:
            return walk(json.loads(text), path)
        except RecursionError:
            return None

    return place


SENDER = Sender(
    proof=_Proof(),
    delivery_id="message.messageId",
    kind=_kind,
    occurred_at="message.publishTime",
    actor=_told("emailAddress"),
    thread="message.orderingKey",
    facts={"subscription": "subscription", "email": _told("emailAddress")},
    secret=False,
    signs_id=False,
    needs="senders",
    options={"service_account": "whose token it is", "audience": "for whom it is"},
    required={"service_account": "text", "audience": "text"},
)
