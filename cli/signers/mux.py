"""Mux: HMAC over time and body, written as Stripe does."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SIGNS_TIME_SECONDS = 300
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as a Mux environment does."""
    signature = draft.hex(draft.seconds, ".", draft.body)
    return draft.send({"Mux-Signature": f"t={draft.seconds},v1={signature}"})
