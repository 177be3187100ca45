"""PagerDuty v3: HMAC over the body, in a list that grows while rotating."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as a webhook subscription does."""
    return draft.send(
        {
            "User-Agent": "PagerDuty-Webhook/V3.0",
            "X-Webhook-Id": draft.id,
            "X-Webhook-Subscription": "PCAFE01",
            "X-PagerDuty-Signature": f"v1={draft.hex(draft.body)}",
        }
    )
