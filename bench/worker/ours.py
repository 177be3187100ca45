"""Ours: the worker's handler with an agent that opted into batches of ten."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

from bench.contest import serve
from bench.made import Context, github_body, message
from lambdas.shared import clock
from lambdas.shared.adapters import dynamodb
from lambdas.shared.event import Content, Event
from lambdas.shared.settings import LedgerSettings
from lambdas.worker.handler import handle

_BODY = github_body(8 * 1024)
_ledger = dynamodb.ledger(
    LedgerSettings(ledger_table="ledger", payload_bucket="payloads"), ledger_days=45
)
_numbers = itertools.count()


_context: Any = Context()


def _prepare() -> dict[str, Any]:
    return {"Records": [_accepted() for _ in range(10)]}


def _accepted() -> dict[str, Any]:
    """Write an event down as the receiver does; return the message of it."""
    event_id = f"github:{next(_numbers)}"
    now = clock.now()
    event = Event(
        id=event_id,
        source="github",
        kind="issues.opened",
        occurred_at=datetime(2026, 1, 2, tzinfo=UTC),
        received_at=now,
        content=Content(_BODY, "application/json"),
        facts={"action": "opened"},
        headers={"x-github-event": "issues"},
    )
    _ledger.accept(event)
    return message(event_id)


def _work(batch: dict[str, Any]) -> None:
    answer = handle(batch, _context)
    if answer["batchItemFailures"]:
        raise RuntimeError(answer)


if __name__ == "__main__":
    serve(_prepare, _work)
