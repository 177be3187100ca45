"""Ours: the receiver's handler, observability on, one new event after another."""

from __future__ import annotations

import itertools
from typing import Any

from bench.contest import serve
from bench.made import Context, github_body, github_request
from lambdas.receiver.handler import handle

_BODY = github_body(8 * 1024)
_numbers = itertools.count()


_context: Any = Context()


def _prepare() -> dict[str, Any]:
    return github_request(_BODY, f"ours-{next(_numbers)}")


def _work(request: dict[str, Any]) -> None:
    answer = handle(request, _context)
    if answer["statusCode"] != 200:
        raise RuntimeError(answer["body"])


if __name__ == "__main__":
    serve(_prepare, _work)
