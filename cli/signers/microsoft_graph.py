"""Microsoft Graph: signs nothing; every notification holds the agreed state."""

from __future__ import annotations

import json

from cli.signers.draft import Delivery, Draft

COVERS_BODY = False


def sign(draft: Draft) -> Delivery:
    """Put the agreed ``clientState`` into each notification."""
    payload = draft.payload
    for notification in payload["value"]:
        notification["clientState"] = draft.secret
    return draft.send({}, body=json.dumps(payload).encode())
