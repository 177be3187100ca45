"""The kinds of request whose AWS calls are counted."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from bench.made import github_body, github_request, line_request

SEVERAL = 7
_BODY = github_body(8 * 1024)
_NOISE = random.Random(1)  # noqa: S311 - what zlib cannot shrink, from a seed


def _large() -> bytes:
    return json.dumps(
        {"action": "opened", "blob": _NOISE.randbytes(60_000).hex()}
    ).encode()


KINDS: dict[str, Callable[[], dict[str, Any]]] = {
    "new": lambda: github_request(_BODY, "first"),
    "duplicate": lambda: github_request(_BODY, "first"),
    "forged": lambda: github_request(_BODY, "forged", secret=b"not the secret"),
    "body in S3": lambda: github_request(_large(), "large"),
    "several events": lambda: line_request(SEVERAL, "several"),
}
