"""SendGrid: the event webhook (deliveries, opens, bounces, spam reports).

Set up: Settings > Mail Settings > Event Webhook, Signed Event Webhook on; the
  source's secret is the verification key shown there.
Signed: X-Twilio-Email-Event-Webhook-Timestamp and the raw body, its last line
  end included, ECDSA on P-256 over SHA-256, base64.
Retries: for 24 h; an answer is wanted within 10 s.
Success: any 2xx.
Delivery id: ``sg_event_id`` of each event of the request, which is signed.
Not protected: the time is signed, but SendGrid names no window (yours may be
  ``tolerance_seconds``): a captured request can be sent again, to no effect while
  the ledger remembers its events.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lambdas.receiver.public_keys import Signed, as_spki
from lambdas.receiver.senders import BODY, TIME, Header, Sender, Time


def _events(data: Any) -> Iterable[Any]:
    return data if isinstance(data, list) else [data]


SENDER = Sender(
    proof=Signed(
        signature=Header("x-twilio-email-event-webhook-signature"),
        signed=(TIME, BODY),
        curve="p256",
        encoding="base64",
        key=as_spki,
        time=Time(
            place=Header("x-twilio-email-event-webhook-timestamp"),
            tolerance_seconds=None,
        ),
    ),
    delivery_id="sg_event_id",
    kind="event",
    occurred_at="timestamp",
    actor="email",
    thread="sg_message_id",
    facts={"event": "event", "email": "email", "type": "type", "url": "url"},
    split=_events,
    needs="senders",
)
