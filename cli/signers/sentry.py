"""Sentry: HMAC over the body; its time and its request id are not signed."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

USUAL_EVENT = "issue.created"
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as an internal integration does."""
    return draft.send(
        {
            "Request-ID": draft.id,
            "Sentry-Hook-Resource": draft.event.partition(".")[0],
            "Sentry-Hook-Timestamp": draft.seconds,
            "Sentry-Hook-Signature": draft.hex(draft.body),
        }
    )
