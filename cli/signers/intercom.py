"""Intercom: HMAC-SHA1 over the body, to this day."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as an Intercom app does."""
    signature = draft.hex(draft.body, algorithm="sha1")
    return draft.send({"X-Hub-Signature": f"sha1={signature}"})
