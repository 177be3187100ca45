"""Starts the engine, in the engine's own environment, with a record of its traffic.

Runs as a file, not as a module of this package: the engine's environment holds
neither our dependencies nor our folder (``python -P`` keeps that so). Two things
are added from outside and nothing of the engine's behaviour changes: calls that
carry our hook's headers are noted with the status they were answered with, and
the exit codes of function processes are noted, which the engine throws away.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

# Taken off again at once: the engine must not find our modules by their names.
sys.path.insert(0, str(Path(__file__).parent))
from wire import CALL_HEADER, CALLER_HEADER, append  # type: ignore[import-not-found]

sys.path.pop(0)

_PR_SET_PDEATHSIG = 1

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


def recorded(app: Application, wire: Path) -> Application:
    """Wrap the engine so that every call of a function is noted when answered."""

    async def noted(scope: Message, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers") or ())
        call = headers.get(CALL_HEADER.encode())
        if call is None:
            return await app(scope, receive, send)
        arrived = time.time()
        function, _, pid = headers[CALLER_HEADER.encode()].decode().rpartition("/")

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                append(
                    wire,
                    at=arrived,
                    call=call.decode(),
                    function=function,
                    pid=int(pid),
                    status=message["status"],
                    path=scope["path"],
                )
            await send(message)

        return await app(scope, receive, answer)

    return noted


def note_exits(lambda_runtime: Any, wire: Path) -> None:
    """Note how each function process ended (-9 where somebody killed it)."""
    collect = lambda_runtime._collect

    def collected(process: Any, deadline: float) -> None:
        collect(process, deadline)
        if process is not None:
            append(wire, at=time.time(), pid=process.pid, exit=process.returncode)

    lambda_runtime._collect = collected


def main() -> None:
    """Serve until the signal; die with the keeper, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    import ministack.app  # type: ignore[import-not-found]
    from ministack.core import lambda_runtime  # type: ignore[import-not-found]

    wire = Path(os.environ["BELLHOP_WIRE_FILE"])
    ministack.app.app = recorded(ministack.app.app, wire)
    note_exits(lambda_runtime, wire)
    ministack.app.main()


if __name__ == "__main__":
    main()
