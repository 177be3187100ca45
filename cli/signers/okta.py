"""Okta: the header that was agreed on, holding the secret itself."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

COVERS_BODY = False


def sign(draft: Draft) -> Delivery:
    """Send the secret in the header of the event hook."""
    return draft.send({draft.options.get("header", "Authorization"): draft.secret})
