"""Bitbucket Cloud: HMAC over the body."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft


def sign(draft: Draft) -> Delivery:
    """Sign as a repository's webhook does."""
    return draft.send(
        {
            "User-Agent": "Bitbucket-Webhooks/2.0",
            "X-Attempt-Number": "1",
            "X-Event-Key": draft.event.replace(".", ":"),
            "X-Hook-UUID": "{2b1c7a52-6c55-4d0b-9b0e-2f9b5fd0c111}",
            "X-Request-UUID": draft.id,
            "X-Hub-Signature": f"sha256={draft.hex(draft.body)}",
        }
    )
