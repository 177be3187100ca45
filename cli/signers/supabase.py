"""Supabase Auth hooks: Standard Webhooks; the secret is shown as ``v1,whsec_...``."""

from __future__ import annotations

from dataclasses import replace

from cli.signers.draft import Delivery, Draft
from cli.signers.standard_webhooks import standard

SIGNS_TIME_SECONDS = 300
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as a Supabase project does."""
    secret = draft.secret.removeprefix("v1,")
    return standard(replace(draft, secret=secret), headers="webhook")
