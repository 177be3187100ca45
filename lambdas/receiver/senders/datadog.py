"""Datadog: the webhooks integration of monitors.

Set up: Integrations > Webhooks > New; in Custom Headers put the secret under
  X-Datadog-Token (or the ``header`` of the source), and keep ``"id": "$ID"`` and
  ``"event_type": "$EVENT_TYPE"`` in the payload.
Signed: nothing; the secret itself comes in that header.
Retries: five, on 5xx and time-outs; an answer is wanted within 15 s.
Success: any 2xx.
Delivery id: ``id`` of the payload.
Not protected: whoever reads one request can make others; any time, any body.
"""

from __future__ import annotations

from lambdas.receiver.places import Message
from lambdas.receiver.senders import Request, Sender, Token


def _token(request: Message) -> str:
    # A proof's place is asked with the whole request.
    header = "x-datadog-token"
    if isinstance(request, Request):
        header = str(request.source.options.get("header", header))
    return request.headers.get(header.lower(), "")


SENDER = Sender(
    proof=Token(place=_token),
    delivery_id="id",
    kind="event_type",
    occurred_at="date",
    tenant="org.id",
    thread="alert_id",
    facts={
        "transition": "alert_transition",
        "type": "alert_type",
        "priority": "priority",
    },
    gives_up_after_seconds=15,
    options={"header": "the header that carries the secret; X-Datadog-Token"},
    forms={"header": "header"},
)
