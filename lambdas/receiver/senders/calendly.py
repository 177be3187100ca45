"""Calendly: webhook subscriptions of a user or an organisation.

Set up: by API (POST /webhook_subscriptions), with a signing_key of your own.
Signed: the time, ``.`` and the raw body, HMAC-SHA256, hex, each ``v1=`` of
  Calendly-Webhook-Signature; 180 s.
Retries: for 24 h, backing off, then it is switched off; answer within 10 s.
Success: any 2xx.
Delivery id: none; made of what is signed: the event, its ``payload.uri`` and
  ``created_at``.
Not protected: nothing known; a replay within 180 s has the same id.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import BODY, TIME, Header, Hmac, Sender, Time, walk


def _id(message: Message) -> str | None:
    paths = ("event", "payload.uri", "created_at")
    words = [walk(message.data, path) for path in paths]
    return ":".join(map(str, words)) if all(words) else None


SENDER = Sender(
    proof=Hmac(
        signature=Header("calendly-webhook-signature"),
        signed=(TIME, b".", BODY),
        prefix="v1=",
        separator=",",
        time=Time(field="t", tolerance_seconds=180),
    ),
    delivery_id=_id,
    kind="event",
    occurred_at="created_at",
    actor="created_by",
    thread="payload.event",
    facts={"status": "payload.status", "rescheduled": "payload.rescheduled"},
)
