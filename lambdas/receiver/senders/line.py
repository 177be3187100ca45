"""LINE: webhooks of a Messaging API channel; several events a request.

Set up: LINE Developers Console > the channel > Messaging API > Webhook URL; the
  secret is the channel secret.
Signed: the raw body, HMAC-SHA256, base64, X-Line-Signature.
Retries: only where "Webhook redelivery" is on; answer soon.
Success: 200; the console's test brings no event.
Delivery id: ``webhookEventId`` of each event, which is signed.
Not protected: no time is signed: a captured body can be sent again, to no
  effect while the ledger remembers its ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Header, Hmac, Sender, walk


def _events(data: Any) -> Iterable[Any]:
    events = walk(data, "events")
    return events if isinstance(events, list) else [data]


def _conversation(message: Message) -> object:
    paths = ("source.groupId", "source.roomId", "source.userId")
    return next(filter(None, (walk(message.data, path) for path in paths)), None)


SENDER = Sender(
    proof=Hmac(signature=Header("x-line-signature"), encoding="base64"),
    delivery_id="webhookEventId",
    kind="type",
    occurred_at="timestamp",
    actor="source.userId",
    thread=_conversation,
    facts={"message": "message.type", "from": "source.type", "mode": "mode"},
    split=_events,
    retries=False,
)
