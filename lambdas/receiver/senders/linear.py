"""Linear: webhooks of a workspace.

Set up: Settings > API > Webhooks > New webhook; the secret is its signing
  secret, which Linear makes.
Signed: the raw body, HMAC-SHA256, hex, Linear-Signature; the time is
  ``webhookTimestamp`` inside it, 60 s. Linear-Timestamp is not signed, not read.
Retries: three (1 min, 1 h, 6 h), then the webhook may be disabled. An answer
  is wanted within 5 s.
Success: exactly 200.
Delivery id: Linear-Delivery.
Not protected: the delivery id is not signed: within 60 s a captured body can
  be replayed under a new one; ``identity = "body"`` closes that.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Header, Hmac, Sender, Time, walk


def _kind(message: Message) -> str | None:
    words = [walk(message.data, path) for path in ("type", "action")]
    return ".".join(w for w in words if isinstance(w, str)) or None


SENDER = Sender(
    proof=Hmac(
        signature=Header("linear-signature"),
        time=Time(place="webhookTimestamp", unit="ms", tolerance_seconds=60),
    ),
    delivery_id=Header("linear-delivery"),
    kind=_kind,
    occurred_at="createdAt",
    tenant="organizationId",
    actor="actor.id",
    thread="data.id",
    facts={
        "action": "action",
        "type": "type",
        "team": "data.team.key",
        "state": "data.state.name",
        "identifier": "data.identifier",
    },
    headers=("linear-event",),
    gives_up_after_seconds=5,
    signs_id=False,
)
