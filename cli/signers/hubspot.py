"""HubSpot: v3 is an HMAC over method, address, body and time; v1, v2 are hashes."""

from __future__ import annotations

import hashlib

from cli.signers.draft import Delivery, Draft

SIGNS_TIME_SECONDS = 300
USUAL_EVENT = "contact.creation"
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as an app of ``options["version"]`` does: v1, v2 or v3."""
    match draft.options.get("version", "v3"):
        case "v1":
            digest = _hash(draft.secret, draft.body)
        case "v2":
            method = draft.options.get("method", "POST")
            digest = _hash(draft.secret, method, draft.url, draft.body)
        case _:
            parts = ("POST", draft.url, draft.body, draft.milliseconds)
            return draft.send(
                {
                    "X-HubSpot-Request-Timestamp": draft.milliseconds,
                    "X-HubSpot-Signature-v3": draft.base64(*parts),
                }
            )
    version = draft.options["version"]
    return draft.send(
        {"X-HubSpot-Signature": digest, "X-HubSpot-Signature-Version": version}
    )


def _hash(*parts: str | bytes) -> str:
    joined = b"".join(p if isinstance(p, bytes) else p.encode() for p in parts)
    return hashlib.sha256(joined).hexdigest()
