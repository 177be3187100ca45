"""Zendesk: HMAC over time and body; the secret looks like base64 and is text."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SIGNS_TIME_SECONDS = 300
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as a Zendesk webhook does."""
    written = draft.at.isoformat(timespec="seconds").replace("+00:00", "Z")
    return draft.send(
        {
            "X-Zendesk-Account-Id": "1024",
            "X-Zendesk-Webhook-Id": "01J5CAFE0WEBHOOK0000000000",
            "X-Zendesk-Webhook-Invocation-Id": draft.id,
            "X-Zendesk-Webhook-Signature-Timestamp": written,
            "X-Zendesk-Webhook-Signature": signature(draft, written),
        }
    )


def signature(draft: Draft, written: str) -> str:
    """Sign the body at the time as it is written."""
    return draft.base64(written, draft.body)
