"""Meta (WhatsApp, Messenger, Instagram): HMAC over the body."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as a Meta app does."""
    return draft.send(
        {
            "User-Agent": "facebookexternalua",
            "X-Hub-Signature": f"sha1={draft.hex(draft.body, algorithm='sha1')}",
            "X-Hub-Signature-256": f"sha256={draft.hex(draft.body)}",
        }
    )
