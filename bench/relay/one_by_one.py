"""The peer: one ``put_events`` per stream record, one after another.

Settings: boto3's own defaults; the detail holds what ours does; no log, no
metric, no look at who hears it.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import boto3

from bench.contest import serve
from bench.made import github_body, stream_record

BATCH = 100
_BODY = github_body(8 * 1024)[:2048]
_client = boto3.client("events")
_numbers = itertools.count()


def _prepare() -> list[dict[str, Any]]:
    ids = (f"github:{next(_numbers)}" for _ in range(BATCH))
    return [stream_record(event_id, _BODY) for event_id in ids]


def _work(records: list[dict[str, Any]]) -> None:
    for record in records:
        image = record["dynamodb"]["NewImage"]
        detail = {
            "event_id": image["pk"]["S"],
            "tenant": image["tenant"]["S"],
            "received_at": image["received_at"]["S"],
            "expires_at": int(image["expires_at"]["N"]),
            "facts": json.loads(image["facts"]["S"]),
            "actor": image["actor"]["S"],
            "thread": None,
        }
        entry: Any = {
            "EventBusName": "bellhop",
            "Source": "bellhop.github",
            "DetailType": image["kind"]["S"],
            "Detail": json.dumps(detail),
        }
        _client.put_events(Entries=[entry])


if __name__ == "__main__":
    serve(_prepare, _work)
