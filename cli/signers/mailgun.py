"""Mailgun: an HMAC inside the body, over a time and a token; not over the event."""

from __future__ import annotations

import hashlib
import json

from cli.signers.draft import Delivery, Draft

# Its repeats, of up to 8 hours later, keep the first signature.
SIGNS_TIME_SECONDS = 9 * 3600
COVERS_BODY = False
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Put the signature into the body, where Mailgun has it."""
    payload = draft.payload
    payload["signature"] = proof(draft, hashlib.sha256(draft.id.encode()).hexdigest())
    return draft.send({}, body=json.dumps(payload).encode())


def proof(draft: Draft, token: str) -> dict[str, str]:
    """Return the ``signature`` object around ``token``."""
    return {
        "timestamp": draft.seconds,
        "token": token,
        "signature": draft.hex(draft.seconds, token),
    }
