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


def _prepare(batches: int) -> list[dict[str, Any]]:
    return [
        {
            "Records": [
                stream_record(f"github:{next(_numbers)}", _BODY) for _ in range(BATCH)
            ]
        }
        for _ in range(batches)
    ]


def _work(batches: list[dict[str, Any]]) -> None:
    context: Any = Context()
    for batch in batches:
        handle(batch, context)


if __name__ == "__main__":
    serve(_prepare, _work)
