"""GitHub: HMAC over the body; neither the time nor the delivery id is signed."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

USUAL_EVENT = "issues.opened"


def sign(draft: Draft) -> Delivery:
    """Sign as a repository's webhook does."""
    return draft.send(
        {
            "User-Agent": "GitHub-Hookshot/bellhop",
            "X-GitHub-Event": draft.event.partition(".")[0],
            "X-GitHub-Delivery": draft.id,
            "X-Hub-Signature": f"sha1={draft.hex(draft.body, algorithm='sha1')}",
            "X-Hub-Signature-256": f"sha256={draft.hex(draft.body)}",
        }
    )
