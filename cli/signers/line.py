"""LINE: HMAC over the body, in base64."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as a LINE channel does."""
    return draft.send(
        {
            "User-Agent": "LineBotWebhook/2.0",
            "X-Line-Signature": draft.base64(draft.body),
        }
    )
