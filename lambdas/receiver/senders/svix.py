"""Svix: any sender that delivers through Svix.

Set up: in the sender's webhook portal, add an endpoint; the secret is its
  signing secret, ``whsec_...``.
Signed: as Standard Webhooks; the headers are svix-* or webhook-*.
Retries: eight over about 28 h; an answer is wanted within 15 s.
Success: any 2xx.
Delivery id: svix-id (or webhook-id), which is signed.
Not protected: nothing known.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Body, FirstSpoken, Header, Sender
from lambdas.receiver.senders.standard_webhooks import proof


def _id(message: Message) -> str | None:
    # By the same rule as the proof: the brand whose signature was verified.
    signed_by_svix = message.headers.get("svix-signature")
    return Header("svix-id" if signed_by_svix else "webhook-id")(message)


SENDER = Sender(
    proof=FirstSpoken((proof("svix"), proof("webhook"))),
    delivery_id=_id,
    kind=Body("type", default="event"),
    occurred_at="timestamp",
    thread="data.id",
    facts={"type": "type"},
    gives_up_after_seconds=15,
)
