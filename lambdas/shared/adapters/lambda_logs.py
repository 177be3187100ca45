"""What Lambda wrote down about one invocation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.failures import told_apart

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

# An invocation has a handful of lines that name it; a page may come back empty.
_MOST_LINES = 100
_MOST_PAGES = 10


def _client() -> Any:
    return aws.client("logs")


class LambdaLogs:
    """The log groups of functions."""

    def __init__(self, client: Callable[[], CloudWatchLogsClient] = _client) -> None:
        """Read with ``client``."""
        self._client = client

    def lines(
        self, log_group: str, request_id: str, since_ms: int, until_ms: int
    ) -> list[str]:
        """Return the lines that name ``request_id``, in their order."""
        found: list[str] = []
        request: dict[str, Any] = {
            "logGroupName": log_group,
            "filterPattern": f'"{request_id}"',
            "startTime": since_ms,
            "endTime": until_ms,
            "limit": _MOST_LINES,
        }
        for _ in range(_MOST_PAGES):
            with told_apart(f"the log {log_group}"):
                page = self._client().filter_log_events(**request)
            found += [event["message"] for event in page.get("events", [])]
            if "nextToken" not in page or len(found) >= _MOST_LINES:
                break
            request["nextToken"] = page["nextToken"]
        return found
