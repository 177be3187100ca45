"""Linear: HMAC over the body, which holds the time itself (``webhookTimestamp``)."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SIGNS_TIME_SECONDS = 60
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as Linear does; the sample holds ``webhookTimestamp`` already."""
    return draft.send(
        {
            "User-Agent": "Linear-Webhook",
            "Linear-Event": draft.event.partition(".")[0],
            "Linear-Delivery": draft.id,
            "Linear-Timestamp": draft.milliseconds,
            "Linear-Signature": draft.hex(draft.body),
        }
    )
