"""Ours: the relay's handler with a full batch of the ledger's stream."""

from __future__ import annotations

import itertools
from typing import Any

from bench.contest import serve
from bench.made import Context, github_body, stream_record
from lambdas.relay.handler import handle

BATCH = 100
_BODY = github_body(8 * 1024)[:2048]  # about what zlib leaves of it
_numbers = itertools.count()


_context: Any = Context()


def _prepare() -> dict[str, Any]:
    ids = (f"github:{next(_numbers)}" for _ in range(BATCH))
    return {"Records": [stream_record(event_id, _BODY) for event_id in ids]}


def _work(batch: dict[str, Any]) -> None:
    handle(batch, _context)


if __name__ == "__main__":
    serve(_prepare, _work)
