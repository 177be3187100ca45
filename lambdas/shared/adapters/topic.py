"""The topic that the digest's mail goes by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.failures import told_apart

# SNS: at most 100 characters of ASCII, on one line.
_LONGEST_SUBJECT = 100
_MOST_BYTES = 256 * 1024


def _client() -> Any:
    return aws.client("sns")


class SnsMail:
    """Everybody who subscribed to one topic."""

    def __init__(self, arn: str, client: Callable[[], Any] = _client) -> None:
        """Speak to the topic ``arn``."""
        self._arn = arn
        self._client = client

    def send(self, subject: str, text: str) -> None:
        """Send it to every subscriber."""
        plain = subject.encode("ascii", "replace").decode()
        with told_apart("the digest's topic"):
            self._client().publish(
                TopicArn=self._arn,
                Subject=plain[:_LONGEST_SUBJECT],
                Message=text.encode()[:_MOST_BYTES].decode("utf-8", "ignore"),
            )
