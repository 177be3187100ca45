"""Datadog: signs nothing; the secret goes into a custom header of the webhook."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

COVERS_BODY = False


def sign(draft: Draft) -> Delivery:
    """Send the secret in the header of the webhook."""
    return draft.send({draft.options.get("header", "X-Datadog-Token"): draft.secret})
