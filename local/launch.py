"""Starts the engine, in the engine's own environment, with a record of its traffic.

Runs as a file, not as a module of this package: the engine's environment holds
neither our dependencies nor our folder (``python -P`` keeps that so). Three things
are added from outside: calls that carry our hook's headers are noted with the
status they were answered with; the exit codes of function processes are noted,
which the engine throws away; and AWS's own events can be played, which nobody
but AWS may put on a bus.
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
from wire import (  # type: ignore[import-not-found]
    CALL_HEADER,
    CALLER_HEADER,
    PLAYED_BY_AWS,
    append,
)

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


def let_aws_be_played(eventbridge: Any) -> None:
    """Take an entry of a source ``aws.*`` if it is marked; else it stays refused."""
    put_events = eventbridge._put_events

    def put(data: Message, allow_aws_source: bool = False) -> Any:
        marks = {entry.get("TraceHeader") for entry in data.get("Entries", [])}
        return put_events(data, allow_aws_source or marks == {PLAYED_BY_AWS})

    eventbridge._put_events = put


def main() -> None:
    """Serve until the signal; die with the keeper, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    import ministack.app  # type: ignore[import-not-found]
    from ministack.core import lambda_runtime  # type: ignore[import-not-found]
    from ministack.services import eventbridge  # type: ignore[import-not-found]

    wire = Path(os.environ["BELLHOP_WIRE_FILE"])
    ministack.app.app = recorded(ministack.app.app, wire)
    note_exits(lambda_runtime, wire)
    let_aws_be_played(eventbridge)
    ministack.app.main()


if __name__ == "__main__":
    main()
