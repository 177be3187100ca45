"""Box: HMAC over body and time. Two headers for two keys; ours signs the first."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SIGNS_TIME_SECONDS = 600
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign with the primary key."""
    written = draft.at.isoformat(timespec="seconds")
    return draft.send(
        {
            "Box-Delivery-Id": draft.id,
            "Box-Delivery-Timestamp": written,
            "Box-Signature-Version": "1",
            "Box-Signature-Algorithm": "HmacSHA256",
            "Box-Signature-Primary": draft.base64(draft.body, written),
        }
    )
