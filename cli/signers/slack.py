"""Slack: HMAC over version, time and body; forms and JSON alike."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft

SIGNS_TIME_SECONDS = 300
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as Slack signs events, commands and interactivity."""
    signature = draft.hex("v0:", draft.seconds, ":", draft.body)
    return draft.send(
        {
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": draft.seconds,
            "X-Slack-Signature": f"v0={signature}",
        }
    )
