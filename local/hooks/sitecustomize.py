"""What the local engine puts into every function's process, and only there.

Python imports this module by itself because the engine's environment has this
folder on ``PYTHONPATH``; the functions' own code knows nothing of it. It

* names the caller of every AWS call and of every request to the outside world
  (two headers), so that the receiving side can keep the wire record, and
* kills the process, once, with SIGKILL, at the armed call.

The armed point is the text of the file ``BELLHOP_KILL_FILE``, read at every call
(a process stays warm for many runs, so its environment would be too late)::

    before|after:<service>.<Operation>:<n>[@<part of the function's name>]

``n`` counts the calls of that name by all functions (of that name) since the
point was armed. ``before`` is before the request leaves, ``after`` is when its
answer has arrived. Firing removes the file, which is the fuse: a retry runs
through. What fired is left in ``kill.fuse`` beside the logs.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import signal
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FUNCTION = os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")


def at(moment: str, call: str) -> None:
    """Die here when this call is the armed one."""
    path = os.environ.get("BELLHOP_KILL_FILE")
    if not path or not Path(path).exists():
        return
    with contextlib.suppress(FileNotFoundError), Path(path).open("r+") as file:
        # One process at a time counts, so that exactly one of them dies.
        fcntl.flock(file, fcntl.LOCK_EX)
        armed, _, seen = file.read().partition("\n")
        wanted_moment, wanted_call, nth, function = parse(armed)
        if (moment, call) != (wanted_moment, wanted_call) or function not in FUNCTION:
            return
        count = int(seen or 0) + 1
        if count < nth:
            file.seek(0)
            file.write(f"{armed}\n{count}")
            file.truncate()
            return
        if count > nth or not Path(path).exists():
            return
        fuse = {"at": time.time(), "armed": armed, "function": FUNCTION}
        log = Path(os.environ["BELLHOP_WIRE_FILE"]).with_name("kill.fuse")
        log.write_text(json.dumps(fuse | {"pid": os.getpid()}), encoding="utf-8")
        Path(path).unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def parse(armed: str) -> tuple[str, str, int, str]:
    """Read a kill point; raises ValueError with what was wanted."""
    point, _, function = armed.partition("@")
    moment, _, rest = point.partition(":")
    call, _, nth = rest.rpartition(":")
    if moment not in {"before", "after"} or "." not in call or not nth.isdigit():
        raise ValueError(
            "BELLHOP_KILL_AT: want before|after:<service>.<Operation>:<n>,"
            f" got {armed[:60]!r}"
        )
    return moment, call, int(nth), function


def _name(model: Any) -> str:
    return f"{model.service_model.service_name}.{model.name}"


def _before_call(model: Any, params: dict[str, Any], **_: Any) -> None:
    params["headers"]["X-Bellhop-Call"] = _name(model)
    params["headers"]["X-Bellhop-Caller"] = f"{FUNCTION}/{os.getpid()}"
    at("before", _name(model))


def _after_call(model: Any, **_: Any) -> None:
    at("after", _name(model))


def watch_aws() -> None:
    """Stand before and behind every AWS call of this process."""
    # The engine imports botocore into every function's process anyway, and no
    # asset holds a copy of its own, so importing it here changes nothing.
    import botocore.handlers

    botocore.handlers.BUILTIN_HANDLERS.extend(
        [("before-call", _before_call), ("after-call", _after_call)]
    )


def watch_world(url: str) -> None:
    """Stand before and behind every request to the outside world.

    urllib, requests and urllib3 all send through ``http.client``.
    """
    world = urlsplit(url).netloc
    connection = http.client.HTTPConnection
    put_request, get_response = connection.putrequest, connection.getresponse

    def is_world(self: http.client.HTTPConnection) -> bool:
        return f"{self.host}:{self.port}" == world

    def putrequest(
        self: http.client.HTTPConnection, method: str, *args: Any, **kwargs: Any
    ) -> None:
        put_request(self, method, *args, **kwargs)
        if is_world(self):
            self.world_call = f"world.{method}"  # type: ignore[attr-defined]
            self.putheader("X-Bellhop-Caller", f"{FUNCTION}/{os.getpid()}")
            at("before", f"world.{method}")

    def getresponse(
        self: http.client.HTTPConnection, *args: Any, **kwargs: Any
    ) -> http.client.HTTPResponse:
        response = get_response(self, *args, **kwargs)
        if is_world(self):
            at("after", self.world_call)  # type: ignore[attr-defined]
        return response

    connection.putrequest = putrequest  # type: ignore[method-assign]
    connection.getresponse = getresponse  # type: ignore[method-assign]


if FUNCTION:
    watch_aws()
    if os.environ.get("BELLHOP_WORLD_URL"):
        watch_world(os.environ["BELLHOP_WORLD_URL"])
