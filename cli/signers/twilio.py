"""Twilio: HMAC-SHA1 over the address and the sorted form fields, or a body hash."""

from __future__ import annotations

import hashlib
from urllib.parse import parse_qsl

from cli.signers.draft import Delivery, Draft

SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign a form, or JSON by the hash of it in the address."""
    idempotency = {"I-Twilio-Idempotency-Token": draft.id}
    if draft.media_type != "application/x-www-form-urlencoded":
        query = f"bodySHA256={hashlib.sha256(draft.body).hexdigest()}"
        joint = "&" if "?" in draft.url else "?"
        url = draft.url if "bodySHA256=" in draft.url else f"{draft.url}{joint}{query}"
        signature = draft.base64(url, algorithm="sha1")
        headers = {**idempotency, "X-Twilio-Signature": signature}
        return draft.send(headers, query=query)
    fields = set(parse_qsl(draft.body.decode(), keep_blank_values=True))
    joined = "".join(f"{name}{value}" for name, value in sorted(fields))
    signature = draft.base64(draft.url, joined, algorithm="sha1")
    return draft.send({**idempotency, "X-Twilio-Signature": signature})
