"""Notion: HMAC over the body, under the verification token."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as a connection does."""
    return draft.send({"X-Notion-Signature": f"sha256={draft.hex(draft.body)}"})
