"""Clerk: sent by Svix."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft
from cli.signers.standard_webhooks import standard

SIGNS_TIME_SECONDS = 300
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as it does."""
    return standard(draft, headers="svix")
