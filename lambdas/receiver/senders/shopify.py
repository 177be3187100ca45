"""Shopify: webhooks of a shop or an app.

Set up: Settings > Notifications > Webhooks, or the app's configuration; the
  secret is what is shown there, or the app's client secret.
Signed: the raw body, HMAC-SHA256, base64, X-Shopify-Hmac-Sha256.
Retries: eight in 4 h; an answer is wanted within 5 s.
Success: any 2xx.
Delivery id: X-Shopify-Webhook-Id.
Not protected: neither a time nor the delivery id nor the topic is signed: a
  captured body can be replayed; ``identity = "body"`` closes that.
"""

from __future__ import annotations

from lambdas.receiver.senders import Header, Hmac, Sender

SENDER = Sender(
    proof=Hmac(signature=Header("x-shopify-hmac-sha256"), encoding="base64"),
    delivery_id=Header("x-shopify-webhook-id"),
    kind=Header("x-shopify-topic"),
    occurred_at=Header("x-shopify-triggered-at"),
    tenant=Header("x-shopify-shop-domain"),
    thread="admin_graphql_api_id",
    facts={"currency": "currency", "status": "financial_status", "name": "name"},
    headers=("x-shopify-topic", "x-shopify-event-id", "x-shopify-api-version"),
    gives_up_after_seconds=5,
    signs_id=False,
)
