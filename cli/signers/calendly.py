"""Calendly: HMAC over time and body; its own window is three minutes."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SIGNS_TIME_SECONDS = 180


def sign(draft: Draft) -> Delivery:
    """Sign as a webhook subscription does."""
    signature = draft.hex(draft.seconds, ".", draft.body)
    return draft.send(
        {"Calendly-Webhook-Signature": f"t={draft.seconds},v1={signature}"}
    )
