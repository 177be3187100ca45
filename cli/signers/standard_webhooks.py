"""Standard Webhooks: HMAC over id, time and body, under the decoded ``whsec_`` key."""

from __future__ import annotations

import base64
import binascii

from cli.signers.draft import Delivery, Draft

SIGNS_TIME_SECONDS = 300
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as the specification says, with its own header names."""
    return standard(draft, headers="webhook")


def standard(draft: Draft, *, headers: str, prefix: str = "msg") -> Delivery:
    """Sign with ``<headers>-id``, ``-timestamp`` and ``-signature``."""
    message_id = draft.id if "_" in draft.id else f"{prefix}_{draft.id}"
    mac = draft.mac(
        message_id, ".", draft.seconds, ".", draft.body, key=key(draft.secret)
    )
    return draft.send(
        {
            f"{headers}-id": message_id,
            f"{headers}-timestamp": draft.seconds,
            f"{headers}-signature": f"v1,{base64.b64encode(mac).decode()}",
        }
    )


def key(secret: str) -> bytes:
    """Return the bytes behind ``whsec_``, whose base64 padding may be missing.

    Raises:
        ValueError: what follows is not base64.
    """
    text = secret.removeprefix("whsec_")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError("want whsec_ and base64 after it") from error
