"""Gitea: HMAC over the body, bare."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft


def sign(draft: Draft) -> Delivery:
    """Sign as a repository's webhook does."""
    return draft.send(
        {
            "X-Gitea-Event": draft.event.partition(".")[0],
            "X-Gitea-Delivery": draft.id,
            "X-Gitea-Signature": draft.hex(draft.body),
        }
    )
