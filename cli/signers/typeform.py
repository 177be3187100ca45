"""Typeform: HMAC over the body, in base64 behind a prefix that promises hex."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft


def sign(draft: Draft) -> Delivery:
    """Sign as a form's webhook does."""
    return draft.send({"Typeform-Signature": f"sha256={draft.base64(draft.body)}"})
