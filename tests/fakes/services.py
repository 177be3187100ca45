"""GitHub, Slack, Linear, Stripe and a shop on a loopback port, for effects.

Each treats a second request as the real service does: GitHub and Slack act
again, Linear refuses a second entity under one id, Stripe answers as it
answered first. The server can be told to fail before or after it acts.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What reached a service; ``path`` is the real one, without the host."""

    host: str
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @classmethod
    def of(cls, document: Any, status: int = 200, **headers: str) -> Reply:
        """Answer JSON; an underscore in a header's name stands for a dash."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return cls(
            status=status,
            headers={"content-type": "application/json", **named},
            body=json.dumps(document).encode(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """How one request goes wrong: acted on or not, then ``reply`` or a cut line.

    ``stall_seconds`` holds back the answer, ``drip_seconds`` each byte of its
    body.
    """

    acts: bool
    reply: Reply | None = None
    stall_seconds: float = 0
    drip_seconds: float = 0


CUT_BEFORE_ACTING = Fault(acts=False)
CUT_AFTER_ACTING = Fault(acts=True)

Service = Callable[[Request], Reply]


class Services:
    """The services by host name, what they were asked, and what will go wrong."""

    def __init__(self, services: dict[str, Service]) -> None:
        self.services = services
        self.requests: list[Request] = []
        self.faults: deque[Fault] = deque()
        self.url = ""

    def asked(self, method: str) -> list[Request]:
        """Return the requests by ``method``, oldest first."""
        return [each for each in self.requests if each.method == method]

    def answer(self, request: Request) -> tuple[Fault | None, Reply]:
        """Return what goes wrong with a request, and how it would be answered."""
        self.requests.append(request)
        fault = self.faults.popleft() if self.faults else None
        if fault is not None and not fault.acts:
            return fault, fault.reply or Reply()
        reply = self.services[request.host](request)
        return fault, (fault.reply if fault and fault.reply else reply)


@contextmanager
def serving(services: Services) -> Iterator[Services]:
    """Serve on a free port of the loopback while the block runs."""
    server = _Server(services)
    services.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield services
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, services: Services) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.services = services


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        parts = urlsplit(self.path)
        host, _, path = parts.path.lstrip("/").partition("/")
        length = int(self.headers.get("content-length") or 0)
        request = Request(
            host=host,
            method=self.command,
            path=f"/{path}",
            query=dict(parse_qsl(parts.query)),
            headers={name.lower(): text for name, text in self.headers.items()},
            body=self.rfile.read(length),
        )
        fault, reply = self.server.services.answer(request)
        self.close_connection = True
        if fault is None:
            self._send(reply)
        elif fault.reply is not None or fault.stall_seconds:
            time.sleep(fault.stall_seconds)
            self._send(reply, fault.drip_seconds)

    def do_GET(self) -> None:
        self.do_POST()

    do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the base class wants them

    def _send(self, reply: Reply, drip_seconds: float = 0) -> None:
        try:
            self.send_response(reply.status)
            told = {"content-length": str(len(reply.body)), **reply.headers}
            for name, text in told.items():
                self.send_header(name, text)
            self.end_headers()
            if not drip_seconds:
                self.wfile.write(reply.body)
                return
            for byte in reply.body:
                self.wfile.write(bytes([byte]))
                time.sleep(drip_seconds)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the caller hung up, which is what some tests are about

    def log_message(self, format: str, *args: Any) -> None:
        pass
