"""PagerDuty: webhooks version 3 of a service, a team or an account.

Set up: Integrations > Generic Webhooks (v3) > New Webhook; the secret is shown
  once, after saving.
Signed: the raw body, HMAC-SHA256, hex, each ``v1=`` of X-PagerDuty-Signature.
Retries: 5xx, 429 and time-outs for 48 h, any other 4xx never; an answer is
  wanted within 5 s.
Success: any 2xx.
Delivery id: ``event.id``, which is signed (X-Webhook-Id is not).
Not protected: no time is signed: a captured body can be sent again, to no
  effect while the ledger remembers its id.
"""

from __future__ import annotations

from lambdas.receiver.senders import Header, Hmac, Sender

SENDER = Sender(
    proof=Hmac(signature=Header("x-pagerduty-signature"), prefix="v1=", separator=","),
    delivery_id="event.id",
    kind="event.event_type",
    occurred_at="event.occurred_at",
    actor="event.agent.id",
    thread="event.data.id",
    facts={
        "status": "event.data.status",
        "urgency": "event.data.urgency",
        "priority": "event.data.priority.summary",
        "service": "event.data.service.summary",
        "resource": "event.resource_type",
    },
    headers=("x-webhook-subscription",),
    gives_up_after_seconds=5,
)
