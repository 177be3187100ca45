"""Gogs: HMAC over the body, bare."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft


def sign(draft: Draft) -> Delivery:
    """Sign as a repository's webhook does."""
    return draft.send(
        {
            "X-Gogs-Event": draft.event.partition(".")[0],
            "X-Gogs-Delivery": draft.id,
            "X-Gogs-Signature": draft.hex(draft.body),
        }
    )
