"""Makes the engine slow, or short of capacity, for calls of the functions.

The file ``trouble`` in the stack's folder says how, read at every call::

    {"call": "dynamodb.", "delay_ms": 300, "refuse_every": 2}

All calls whose name begins so are held back that long, and every second of them
is refused as DynamoDB refuses what exceeds its capacity. Without the file the
engine is as quick as it is. Runs in the engine's process, as ``launch.py`` does.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

_REFUSAL = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"


def troubled(app: Application, file: Path, header: str) -> Application:
    """Wrap the engine; ``header`` names a function's call."""
    numbers = itertools.count(1)

    async def held_back(scope: Message, receive: Receive, send: Send) -> None:
        call = dict(scope.get("headers") or ()).get(header.encode(), b"").decode()
        trouble = _read(file) if call else {}
        if not trouble or not call.startswith(trouble["call"]):
            await app(scope, receive, send)
            return
        await asyncio.sleep(trouble.get("delay_ms", 0) / 1000)
        every = trouble.get("refuse_every", 0)
        if every and next(numbers) % every == 0:
            await _refuse(receive, send)
        else:
            await app(scope, receive, send)

    return held_back


def _read(file: Path) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return read


async def _refuse(receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    body = json.dumps({"__type": _REFUSAL, "message": "too many requests"}).encode()
    headers = [(b"content-type", b"application/x-amz-json-1.0")]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})
