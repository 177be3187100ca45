"""What the local engine puts into every function's process, and only there.

Python imports this module by itself because the engine's environment has this
folder on ``PYTHONPATH``; the functions' own code knows nothing of it. It

* names the caller of every AWS call and of every request to the outside world
  (two headers), so that the receiving side can keep the wire record, and
* kills the process, once, with SIGKILL, at an armed call.

The armed points are the lines of the file ``BELLHOP_KILL_FILE``, read at every
call (a process stays warm for many runs, so its environment would be too late)::

    before|after:<service>.<Operation>:<n>[@<part of the function's name>][#<event>]

``n`` counts the calls of that name by all functions (of that name, about that
event) since the point was armed. ``before`` is before the request leaves,
``after`` is when its answer has arrived. Firing removes the line, which is the
fuse: a retry runs through. What fired is left in ``kill.fuse`` beside the logs,
one JSON object a line.

A call is about an event when it holds the event's id, or its hash in a key of S3;
one that holds neither (a queue's, a service's outside) is about the event of the
process's last call to the ledger.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import http.client
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

# A worker that polls is no function: local/workers.py names it.
FUNCTION = os.environ.get("AWS_LAMBDA_FUNCTION_NAME") or os.environ.get(
    "BELLHOP_CALLER", ""
)


# What the last call to the ledger was about.
_last: list[bytes] = [b""]


@dataclass(frozen=True)
class Point:
    """An armed point; ``function`` and ``event`` are empty where any will do."""

    moment: str
    call: str
    nth: int
    function: str
    event: str

    def is_at(self, moment: str, call: str, about: bytes) -> bool:
        """Whether this call of this process is one to be counted."""
        mine = (self.moment, self.call) == (moment, call) and self.function in FUNCTION
        if not mine or not self.event:
            return mine
        wanted = self.event.encode()
        return wanted in about or hashlib.sha256(wanted).hexdigest().encode() in about


def at(moment: str, call: str, about: bytes = b"") -> None:
    """Die here when this call is an armed one."""
    path = os.environ.get("BELLHOP_KILL_FILE")
    if not path or not Path(path).exists():
        return
    with contextlib.suppress(FileNotFoundError), Path(path).open("r+") as file:
        # One process at a time counts, so that exactly one of them dies.
        fcntl.flock(file, fcntl.LOCK_EX)
        if not Path(path).exists():
            return
        left, fired = _counted(file.read().splitlines(), moment, call, about)
        if fired:
            _tell(fired)
        if left:
            file.seek(0)
            file.write("\n".join(left))
            file.truncate()
        else:
            Path(path).unlink()
        if fired:
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)


def _counted(
    lines: list[str], moment: str, call: str, about: bytes
) -> tuple[list[str], str]:
    """Return the armed lines that are left after this call, and the one that fires."""
    left, fired = [], ""
    for line in lines:
        armed, _, seen = line.partition("\t")
        point = parse(armed)
        count = int(seen or 0)
        if point.is_at(moment, call, about):
            count += 1
            if count >= point.nth and not fired:
                fired = armed
                continue
        left.append(f"{armed}\t{count}")
    return left, fired


def _tell(armed: str) -> None:
    fuse = {"at": time.time(), "armed": armed, "function": FUNCTION}
    log = Path(os.environ["BELLHOP_WIRE_FILE"]).with_name("kill.fuse")
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(fuse | {"pid": os.getpid()}) + "\n")


def parse(armed: str) -> Point:
    """Read a kill point; raises ValueError with what was wanted."""
    point, _, event = armed.partition("#")
    point, _, function = point.partition("@")
    moment, _, rest = point.partition(":")
    call, _, nth = rest.rpartition(":")
    if moment not in {"before", "after"} or "." not in call or not nth.isdigit():
        raise ValueError(
            "BELLHOP_KILL_AT: want before|after:<service>.<Operation>:<n>,"
            f" got {armed[:60]!r}"
        )
    return Point(moment, call, int(nth), function, event)


def _name(model: Any) -> str:
    return f"{model.service_model.service_name}.{model.name}"


def _before_call(
    model: Any, params: dict[str, Any], context: dict[str, Any], **_: Any
) -> None:
    params["headers"]["X-Bellhop-Call"] = _name(model)
    params["headers"]["X-Bellhop-Caller"] = f"{FUNCTION}/{os.getpid()}"
    context["bellhop_about"] = about = _about(model, params)
    at("before", _name(model), about)


def _after_call(model: Any, context: dict[str, Any], **_: Any) -> None:
    at("after", _name(model), context.get("bellhop_about", b""))


def _about(model: Any, params: dict[str, Any]) -> bytes:
    """Return what tells which event a call is about."""
    service = model.service_model.service_name
    if service == "s3":
        return str(params.get("url", "")).encode()
    if service not in {"dynamodb", "events"}:
        return _last[0]
    body = params.get("body", b"")
    about = body if isinstance(body, bytes) else str(body).encode()
    if service == "dynamodb":
        _last[0] = about
    return about


def watch_aws() -> None:
    """Stand before and behind every AWS call of this process."""
    # The engine imports botocore into every function's process anyway, and no
    # asset holds a copy of its own, so importing it here changes nothing.
    import botocore.handlers

    botocore.handlers.BUILTIN_HANDLERS.extend(
        [("before-call", _before_call), ("after-call", _after_call)]
    )


def watch_direct() -> None:
    """Stand before and behind every first try, which no client of botocore's makes."""
    direct = sys.modules["lambdas.shared.adapters.direct"]
    send = direct.post

    def post(url: str, headers: dict[str, str], body: bytes) -> Any:
        prefix, _, operation = headers["X-Amz-Target"].partition(".")
        service = prefix.partition("_")[0].lower()
        call = f"{service}.{operation}"
        if service == "dynamodb":
            _last[0] = body
        headers |= {
            "X-Bellhop-Call": call,
            "X-Bellhop-Caller": f"{FUNCTION}/{os.getpid()}",
        }
        at("before", call, _last[0])
        answer = send(url, headers, body)
        at("after", call, _last[0])
        return answer

    direct.post = post  # type: ignore[attr-defined]


def watch_world(url: str) -> None:
    """Stand before and behind every request to the outside world.

    Our effects send through httpx; urllib and requests, which an agent may
    use, through ``http.client``.
    """
    netloc = urlsplit(url).netloc
    watch_http_client(netloc)
    sys.meta_path.insert(0, _WhenImported("httpx", lambda: watch_httpx(netloc)))


def watch_http_client(netloc: str) -> None:
    """Watch the standard library's client."""
    connection = http.client.HTTPConnection
    put_request, get_response = connection.putrequest, connection.getresponse

    def is_world(self: http.client.HTTPConnection) -> bool:
        return f"{self.host}:{self.port}" == netloc

    def putrequest(
        self: http.client.HTTPConnection, method: str, *args: Any, **kwargs: Any
    ) -> None:
        put_request(self, method, *args, **kwargs)
        if is_world(self):
            self.world_call = f"world.{method}"  # type: ignore[attr-defined]
            self.putheader("X-Bellhop-Caller", f"{FUNCTION}/{os.getpid()}")
            at("before", f"world.{method}", _last[0])

    def getresponse(
        self: http.client.HTTPConnection, *args: Any, **kwargs: Any
    ) -> http.client.HTTPResponse:
        response = get_response(self, *args, **kwargs)
        if is_world(self):
            at("after", self.world_call, _last[0])  # type: ignore[attr-defined]
        return response

    connection.putrequest = putrequest  # type: ignore[method-assign]
    connection.getresponse = getresponse  # type: ignore[method-assign]


def watch_httpx(netloc: str) -> None:
    """Watch httpx, which has just been imported."""
    import httpx

    handle_request = httpx.HTTPTransport.handle_request

    def handled(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        if request.url.netloc.decode() != netloc:
            return handle_request(self, request)
        request.headers["X-Bellhop-Caller"] = f"{FUNCTION}/{os.getpid()}"
        at("before", f"world.{request.method}", _last[0])
        response = handle_request(self, request)
        at("after", f"world.{request.method}", _last[0])
        return response

    httpx.HTTPTransport.handle_request = handled  # type: ignore[method-assign]


class _WhenImported(importlib.abc.MetaPathFinder):
    """Runs something right after a module's first import.

    The functions' dependencies are not on the path yet when this module runs,
    and importing one that a function does not need would hide a slow start.
    """

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, fullname: str, *_: Any
    ) -> importlib.machinery.ModuleSpec | None:
        """Find the module as everybody would, and watch its loading."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            load(module)
            self._then()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


if FUNCTION:
    watch_aws()
    direct = "lambdas.shared.adapters.direct"
    sys.meta_path.insert(0, _WhenImported(direct, watch_direct))
    if os.environ.get("BELLHOP_WORLD_URL"):
        watch_world(os.environ["BELLHOP_WORLD_URL"])
