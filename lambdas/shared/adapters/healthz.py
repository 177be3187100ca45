"""``GET /healthz`` over HTTP: one page, for whoever watches over a process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Of a status and what is said with it.
Health = Callable[[], tuple[int, dict[str, Any]]]

# One that connects and says nothing must not hold a thread for ever.
_PATIENCE_SECONDS = 5


class Healthz:
    """Answers at ``url`` from the moment it is made until it is closed."""

    def __init__(self, address: tuple[str, int], health: Health) -> None:
        """Listen at host and port; port 0 is any. ``health`` is asked at each call.

        Raises:
            OSError: the port is taken.
        """
        self._server = ThreadingHTTPServer(address, _handler(health))
        self._server.daemon_threads = True
        threading.Thread(
            target=self._server.serve_forever, name="healthz", daemon=True
        ).start()

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}/healthz"

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


def _handler(health: Health) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE_SECONDS
        server_version, sys_version = "bellhop", ""

        def do_GET(self) -> None:
            """Answer the one page."""
            if self.path.partition("?")[0] != "/healthz":
                self._answer(404, {"error": "not_found"})
                return
            self._answer(*health())

        def log_message(self, *_: Any) -> None:
            """A look every half minute is worth no line."""

        def _answer(self, status: int, value: dict[str, Any]) -> None:
            body = json.dumps(value).encode() + b"\n"
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
