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


def watch_httpx(netloc: str) -> None:
    """Watch httpx, which has just been imported."""
    import httpx

    handle_request = httpx.HTTPTransport.handle_request

    def handled(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        if request.url.netloc.decode() != netloc:
            return handle_request(self, request)
        request.headers["X-Bellhop-Caller"] = f"{FUNCTION}/{os.getpid()}"
        at("before", f"world.{request.method}")
        response = handle_request(self, request)
        at("after", f"world.{request.method}")
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
    if os.environ.get("BELLHOP_WORLD_URL"):
        watch_world(os.environ["BELLHOP_WORLD_URL"])
