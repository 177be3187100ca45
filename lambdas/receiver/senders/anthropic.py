"""Anthropic: events of managed agents.

Set up: Console > Webhooks > Create; the secret is its signing secret
  (``whsec_...``).
Signed: as Standard Webhooks.
Retries: several, under the same id; some 20 failures in a row switch it off.
Success: any 2xx; a redirect is a failure.
Delivery id: webhook-id, which is signed.
Not protected: nothing known.
"""

from __future__ import annotations

from lambdas.receiver.senders import Header, Sender
from lambdas.receiver.senders.standard_webhooks import proof

SENDER = Sender(
    proof=proof(),
    delivery_id=Header("webhook-id"),
    kind="data.type",
    occurred_at="created_at",
    tenant="data.organization_id",
    thread="data.id",
    facts={"type": "data.type", "workspace": "data.workspace_id"},
)
