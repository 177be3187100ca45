"""CircleCI: HMAC over the body, in a list of versions."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft


def sign(draft: Draft) -> Delivery:
    """Sign as a project's outbound webhook does."""
    return draft.send(
        {
            "User-Agent": "CircleCI-Webhook/1.0",
            "Circleci-Event-Type": draft.event.replace(".", "-"),
            "Circleci-Signature": f"v1={draft.hex(draft.body)}",
        }
    )
