"""The outside world: one small server that plays every service an agent calls.

Any path is a service: ``POST /api.github.com/repos/o/r/issues/1/comments`` makes
an effect there and ``GET`` of the same path lists what was posted, so that an
effect can look before it acts. A service that honours operation ids answers a
repeated one as it answered first and does nothing; that is the default.

``GET /_effects`` lists what really happened, ``POST /_reset`` forgets it,
``POST /_behave`` makes a path slow, broken or deaf to operation ids, and
``POST /_serve`` lets it publish a text (a certificate, keys), each look at which is
an effect too.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from dataclasses import asdict, dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from local import services
from local.wire import CALLER_HEADER, append


@dataclass(slots=True, kw_only=True)
class Effect:
    """Something that happened. ``count`` is how often, ``requests`` how often asked."""

    operation_id: str | None
    path: str
    method: str
    body: Any
    count: int
    at: float
    requests: int = 1
    pid: int | None = None
    answer: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """How a path (or everything below it) answers.

    A ``status`` of 400 or more means that nothing happens. ``delay_ms`` holds
    back the answer, not the effect: the hardest moment to lose a caller.
    ``times`` limits it to so many requests. ``error`` is the service's own word
    for a refusal.
    """

    path: str
    status: int | None = None
    delay_ms: int = 0
    retry_after: int | None = None
    honours_keys: bool = True
    times: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back to the caller."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)

    def encoded(self) -> tuple[str, bytes]:
        """Return media type and bytes; a published text is not JSON."""
        if isinstance(self.body, bytes):
            return "text/plain", self.body
        return "application/json", json.dumps(self.body).encode()


class World:
    """What happened outside, and how the services behave. Safe for many threads."""

    def __init__(self, wire: Path) -> None:
        """Start with nothing done; requests of functions are noted in ``wire``."""
        self._wire = wire
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._effects: list[Effect] = []
        self._behaviours: dict[str, Behaviour] = {}
        self._used: dict[str, int] = {}
        self._served: dict[str, bytes] = {}

    def effects(self) -> list[dict[str, Any]]:
        """Return what happened, oldest first."""
        with self._lock:
            listed = [asdict(effect) for effect in self._effects if effect.count]
        for effect in listed:
            del effect["answer"]
        return listed

    def reset(self) -> None:
        """Forget everything that happened and every behaviour."""
        with self._lock:
            self._effects.clear()
            self._behaviours.clear()
            self._used.clear()
            self._served.clear()

    def serve(self, path: str, text: str) -> None:
        """Publish a text at a path (of a query, whatever it is) from now on."""
        with self._lock:
            self._served[_path(path)] = text.encode()

    def behave(self, behaviour: Behaviour) -> None:
        """Let a path behave so from now on, in place of what it did before."""
        behaviour = replace(behaviour, path=_path(behaviour.path))
        with self._lock:
            self._behaviours[behaviour.path] = behaviour
            self._used.pop(behaviour.path, None)

    def read(self, target: str) -> Answer:
        """Return what was posted to a path, as its service would list it."""
        path, query = _split(target)
        if path in self._served:
            return self._look(path)
        posted = self._posted(services.listed(path))
        return Answer(status=200, body=services.listing(path, query, posted))

    def _look(self, path: str) -> Answer:
        behaviour = self._behaviour(path)
        if behaviour:
            time.sleep(behaviour.delay_ms / 1000)
            if (behaviour.status or 200) >= 300:
                return _refusal(behaviour.status or 200, behaviour)
        with self._lock:
            look = Effect(
                operation_id=None,
                path=path,
                method="GET",
                body=None,
                count=1,
                at=time.time(),
            )
            self._effects.append(look)
            return Answer(status=200, body=self._served[path])

    def _posted(self, path: str) -> list[dict[str, Any]]:
        with self._lock:
            return [
                effect.answer
                for effect in self._effects
                if effect.path == path and effect.method != "GET"
            ]

    def act(
        self, method: str, target: str, headers: dict[str, str], body: bytes
    ) -> Answer:
        """Let a request have its effect, once per operation id where honoured."""
        path, _ = _split(target)
        if path == services.TOKENS:
            return Answer(status=200, body=services.token())
        value = _decoded(body, headers.get("content-type", ""))
        if services.is_look(path, value):
            return Answer(
                status=200, body=services.looked_up(value, self._posted(path))
            )
        behaviour = self._behaviour(path)
        function, _, pid = headers.get(CALLER_HEADER, "").rpartition("/")
        asked = Effect(
            operation_id=services.operation_id(path, headers, body, value),
            path=path,
            method=method,
            body=value,
            count=1,
            at=time.time(),
            pid=int(pid) if pid else None,
        )
        answer = self._answered(asked, behaviour)
        if pid:
            append(
                self._wire,
                at=asked.at,
                call=f"world.{method}",
                function=function,
                pid=int(pid),
                status=answer.status,
                path=path,
            )
        if behaviour:
            time.sleep(behaviour.delay_ms / 1000)
        return answer

    def _answered(self, asked: Effect, behaviour: Behaviour | None) -> Answer:
        if behaviour is None:
            return self._happen(asked, honours_keys=True, status=200)
        status = behaviour.status or 200
        if status >= 400:
            return _refusal(status, behaviour)
        return self._happen(asked, honours_keys=behaviour.honours_keys, status=status)

    def _behaviour(self, path: str) -> Behaviour | None:
        with self._lock:
            nearest = max(
                (b for b in self._behaviours.values() if path.startswith(b.path)),
                key=lambda b: len(b.path),
                default=None,
            )
            if nearest is None:
                return None
            used = self._used[nearest.path] = self._used.get(nearest.path, 0) + 1
            if nearest.times is not None and used > nearest.times:
                return None
            return nearest

    def _happen(self, asked: Effect, *, honours_keys: bool, status: int) -> Answer:
        with self._lock:
            done = self._done(asked) if asked.operation_id else None
            if done is None:
                asked.answer = services.answer(
                    asked.path, asked.body, number=next(self._numbers), at=asked.at
                )
                self._effects.append(asked)
                return Answer(status=status, body=asked.answer)
            done.requests += 1
            if not honours_keys:
                done.count += 1
            return Answer(status=status, body=done.answer)

    def _done(self, asked: Effect) -> Effect | None:
        wanted = (asked.operation_id, asked.method, asked.path)
        return next(
            (
                effect
                for effect in self._effects
                if (effect.operation_id, effect.method, effect.path) == wanted
            ),
            None,
        )


def _refusal(status: int, behaviour: Behaviour) -> Answer:
    headers = {}
    if behaviour.retry_after is not None:
        headers["Retry-After"] = str(behaviour.retry_after)
    body = {"ok": False, "error": behaviour.error or status}
    return Answer(status=status, body=body, headers=headers)


def _path(named: str) -> str:
    """Return what ``api.stripe.com/v1`` or its address is called here."""
    return "/" + named.removeprefix("https://").lstrip("/")


def _split(target: str) -> tuple[str, dict[str, str]]:
    parts = urlsplit(target)
    return parts.path, dict(parse_qsl(parts.query))


def _decoded(body: bytes, media_type: str) -> Any:
    if media_type.startswith("application/x-www-form-urlencoded"):
        return dict(parse_qsl(body.decode("utf-8", "replace")))
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")


class _Handler(BaseHTTPRequestHandler):
    """Speaks HTTP for a world; one thread per connection."""

    protocol_version = "HTTP/1.1"
    server: WorldServer

    def do_GET(self) -> None:
        """Serve the record, or what was posted to a path."""
        world = self.server.world
        if self.path == "/_effects":
            self._send(Answer(status=200, body=world.effects()))
        else:
            self._send(world.read(self.path))

    def do_POST(self) -> None:
        """Serve a command of the tests, or let an effect happen."""
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        world = self.server.world
        if self.path == "/_reset":
            world.reset()
            self._send(Answer(status=200, body={}))
        elif self.path in ("/_behave", "/_serve"):
            try:
                told = json.loads(body)
                if self.path == "/_serve":
                    world.serve(**told)
                else:
                    world.behave(Behaviour(**told))
            except (TypeError, ValueError) as error:
                self._send(Answer(status=400, body={"error": str(error)}))
            else:
                self._send(Answer(status=200, body={}))
        else:
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._send(world.act(self.command, self.path, headers, body))

    do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815 - the base class wants them

    def _send(self, answer: Answer) -> None:
        media_type, body = answer.encoded()
        try:
            self.send_response(answer.status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            # The caller died while it waited, which is what some tests are about.
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the wire record and ``/_effects`` say it better."""


class WorldServer(ThreadingHTTPServer):
    """A world on a port of the loopback; ``url`` tells which."""

    daemon_threads = True
    # Fifty callers at one barrier must all find room; the default is 5.
    request_queue_size = 128

    def __init__(self, wire: Path, port: int = 0) -> None:
        """Bind the port; nothing is served before ``serve_forever``."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.world = World(wire)

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return f"http://127.0.0.1:{self.server_address[1]}"
