"""Microsoft Graph: change notifications; several a request.

Set up: by API (POST /subscriptions), with ``clientState`` = the secret.
Signed: nothing; the secret itself is the ``clientState`` of every notification.
Retries: for up to 4 h, backing off; an answer is wanted within 3 s.
Success: 202; ``validationToken`` is echoed as plain text.
Delivery id: ``id`` of each notification, or where there is none, what changed
  (subscription, change, resource and its ETag).
Not protected: whoever reads one request can make others; any time, any body. The
  tokens of notifications with encrypted content are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from lambdas.receiver.schemes import Alone
from lambdas.receiver.senders import (
    Answer,
    Message,
    Request,
    Sender,
    Token,
    first,
    walk,
)
from lambdas.shared.errors import Code, Rejected


def _notifications(data: Any) -> list[Any]:
    found = walk(data, "value")
    return found if isinstance(found, list) else []


class _ClientStates(Alone):
    """The secret in each notification: one that knows it vouches for no other.

    Several subscriptions may share a request, some of them made before the
    secret was changed.
    """

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:
        found = [
            Token(place=f"value.{index}.clientState").verify(request, secrets, now)
            for index, _ in enumerate(_notifications(request.data))
        ]
        if not found:
            raise Rejected(Code.BAD_SIGNATURE, "there is no notification")
        return max(found)


def _id(message: Message) -> object:
    # A key with a dot in it is no path.
    about = walk(message.data, "resourceData")
    etag = about.get("@odata.etag") if isinstance(about, dict) else None
    own = walk(message.data, "id")
    if own or not etag:
        return own
    paths = ("subscriptionId", "changeType", "resource")
    return ":".join([*(str(walk(message.data, path)) for path in paths), str(etag)])


def _type(message: Message) -> str:
    kind: str = walk(message.data, "resourceData")["@odata.type"]
    return kind.removeprefix("#Microsoft.Graph.")


def _greet(request: Request, _: Sequence[str]) -> Answer | None:
    token = request.arguments.get("validationToken")
    return Answer(body=token) if token else None


SENDER = Sender(
    proof=_ClientStates(),
    delivery_id=_id,
    kind=first("lifecycleEvent", "changeType"),
    tenant="tenantId",
    thread="resource",
    facts={
        "change": "changeType",
        "type": _type,
        "subscription": "subscriptionId",
    },
    greet=_greet,
    split=_notifications,
    success=lambda _: Answer(status=202),
    gives_up_after_seconds=3,
)
