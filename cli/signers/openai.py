"""OpenAI: Standard Webhooks, but a secret without ``whsec_`` is used as text."""

from __future__ import annotations

import base64
from dataclasses import replace

from cli.signers.draft import Delivery, Draft
from cli.signers.standard_webhooks import standard

SIGNS_TIME_SECONDS = 300
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as its own library does."""
    if not draft.secret.startswith("whsec_"):
        encoded = base64.b64encode(draft.secret.encode()).decode()
        draft = replace(draft, secret=f"whsec_{encoded}")
    return standard(draft, headers="webhook", prefix="wh")
