"""Shopify: HMAC over the body alone, in base64."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as a shop does."""
    return draft.send(
        {
            "X-Shopify-Topic": draft.event.replace(".", "/"),
            "X-Shopify-Shop-Domain": "corner-cafe.myshopify.com",
            "X-Shopify-API-Version": "2026-10",
            "X-Shopify-Webhook-Id": draft.id,
            "X-Shopify-Event-Id": f"event-{draft.id}",
            "X-Shopify-Triggered-At": draft.at.isoformat(),
            "X-Shopify-Hmac-Sha256": draft.base64(draft.body),
        }
    )
