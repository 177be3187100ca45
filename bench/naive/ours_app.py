"""Ours: the receiver's handler; this small bridge plays API Gateway.

Settings: the same uvicorn as the peer's, without its framework.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from bench.made import Context
from lambdas.receiver.handler import handle

_context: Any = Context()


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Answer one HTTP request."""
    if scope["type"] != "http":
        return
    if scope["path"] == "/cpu":
        await _answer(send, 200, json.dumps(time.process_time()))
        return
    body, more = b"", True
    while more:
        part = await receive()
        body += part.get("body", b"")
        more = part.get("more_body", False)
    answer = handle(_event(scope, body), _context)
    await _answer(send, answer["statusCode"], answer["body"])


def _event(scope: dict[str, Any], body: bytes) -> dict[str, Any]:
    path = scope["path"]
    return {
        "rawPath": path,
        "rawQueryString": scope["query_string"].decode(),
        "headers": {name.decode(): value.decode() for name, value in scope["headers"]},
        "requestContext": {
            "http": {"method": scope["method"], "sourceIp": scope["client"][0]}
        },
        "pathParameters": {"source": path.rpartition("/")[2]},
        "body": body.decode(),
        "isBase64Encoded": False,
    }


async def _answer(
    send: Callable[[dict[str, Any]], Awaitable[None]], status: int, body: str
) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})
