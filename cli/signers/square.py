"""Square: HMAC over the notification address, as configured, and the body."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as a webhook subscription does."""
    signature = draft.base64(draft.url, draft.body)
    return draft.send({"X-Square-Hmacsha256-Signature": signature})
