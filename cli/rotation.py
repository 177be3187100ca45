"""The rules of rotating a secret: what is kept, for how long, and what may go."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import replace
from datetime import datetime, timedelta

from lambdas.shared.clock import rfc3339
from lambdas.shared.secrets import Secret

# As long as the longest overlap a sender offers (Stripe: up to 24 hours); Shopify
# signs with the old one for about an hour, most others stop at once.
WINDOW = timedelta(hours=24)

# The old secret counts as still in use for so long after it last matched. Senders
# repeat a refused delivery within the hour at the latest.
QUIET = timedelta(hours=1)

# From then on `status` warns if the old secret is in use and about to end.
NEAR_END = timedelta(hours=2)


def rotated(secret: Secret, new: str, *, now: datetime, window: timedelta) -> Secret:
    """Return ``secret`` with ``new`` in front and the old one live for ``window``."""
    return Secret(current=new, previous=secret.current, previous_until=now + window)


def retired(secret: Secret) -> Secret:
    """Return ``secret`` without the old one."""
    return replace(secret, previous=None, previous_until=None)


def is_overlapping(secret: Secret, now: datetime) -> bool:
    """Whether two secrets are accepted at ``now``."""
    return "previous" in secret.live(now)


def text(secret: Secret) -> str:
    """Return the SecretString: the bare secret where there is only one."""
    if secret.previous is None and not secret.current.lstrip().startswith("{"):
        return secret.current
    value = {"current": secret.current}
    if secret.previous is not None:
        value["previous"] = secret.previous
    if secret.previous_until is not None:
        value["previous_until"] = rfc3339(secret.previous_until)
    return json.dumps(value)


def fingerprint(secret: str) -> str:
    """Return a few letters that tell two secrets apart and give neither away."""
    return hashlib.sha256(b"bellhop:" + secret.encode()).hexdigest()[:8]


def generate(sender: str) -> str:
    """Return a new secret of 256 bits, in the form that ``sender`` reads."""
    match sender:
        case "adyen":
            return secrets.token_hex(32).upper()
        case "standard-webhooks" | "svix":
            return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    return secrets.token_urlsafe(32)
