"""The peer: one conditional ``put_item`` per event by a plain boto3 client.

Settings: boto3's own defaults; the body as it came, as text; no verification,
no parsing, no log, no metric.
"""

from __future__ import annotations

import itertools

import boto3

from bench.contest import serve
from bench.made import github_body

_BODY = github_body(8 * 1024).decode()
_client = boto3.client("dynamodb")
_numbers = itertools.count()


def _prepare() -> str:
    return f"bare-{next(_numbers)}"


def _work(event_id: str) -> None:
    _client.put_item(
        TableName="ledger",
        Item={"pk": {"S": event_id}, "sk": {"S": "event"}, "body": {"S": _BODY}},
        ConditionExpression="attribute_not_exists(pk)",
    )


if __name__ == "__main__":
    serve(_prepare, _work)
