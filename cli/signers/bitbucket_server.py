"""Bitbucket Server and Data Center: HMAC over the body."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft


def sign(draft: Draft) -> Delivery:
    """Sign as a repository's webhook does."""
    return draft.send(
        {
            "User-Agent": "Atlassian HttpClient",
            "X-Event-Key": draft.event.replace(".", ":"),
            "X-Request-Id": draft.id,
            "X-Hub-Signature": f"sha256={draft.hex(draft.body)}",
        }
    )
