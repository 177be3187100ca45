"""Jira: HMAC over the body, in the header that GitHub once used."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft


def sign(draft: Draft) -> Delivery:
    """Sign as a webhook with a secret does."""
    return draft.send(
        {
            "User-Agent": "Atlassian HttpClient",
            "X-Atlassian-Webhook-Identifier": draft.id,
            "X-Hub-Signature": f"sha256={draft.hex(draft.body)}",
        }
    )
