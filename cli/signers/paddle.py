"""Paddle Billing: HMAC over time and body."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SIGNS_TIME_SECONDS = 5
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as a notification setting does."""
    signature = draft.hex(draft.seconds, ":", draft.body)
    return draft.send({"Paddle-Signature": f"ts={draft.seconds};h1={signature}"})
