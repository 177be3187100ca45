"""A container's two pages: its own /healthz, and ECS's for its protection."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from lambdas.shared.adapters.ecs import AGENT_VARIABLE, TaskProtection
from lambdas.shared.adapters.healthz import Healthz
from lambdas.shared.errors import Unavailable


def asked(url: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_healthz_says_what_the_worker_says_at_that_moment() -> None:
    says: list[tuple[int, dict[str, Any]]] = [
        (200, {"state": "idle"}),
        (503, {"state": "stuck", "why": "the queue fails"}),
    ]
    health = Healthz(("127.0.0.1", 0), lambda: says.pop(0))

    assert asked(health.url) == (200, {"state": "idle"})
    assert asked(health.url) == (503, {"state": "stuck", "why": "the queue fails"})
    health.close()


def test_other_pages_are_not_found_and_ask_nobody() -> None:
    health = Healthz(("127.0.0.1", 0), lambda: (_ for _ in ()).throw(AssertionError))

    assert asked(health.url.replace("/healthz", "/")) == (404, {"error": "not_found"})
    health.close()


class EcsAgent:
    """ECS's agent, as a container sees it."""

    def __init__(self) -> None:
        self.put: list[tuple[str, Any]] = []
        self.answer: tuple[int, Any] = (200, {"protection": {}})
        agent = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                agent.put.append((self.path, json.loads(body)))
                status, value = agent.answer
                text = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/api/0123"


@pytest.fixture
def agent() -> Iterator[EcsAgent]:
    agent = EcsAgent()
    yield agent
    agent.server.shutdown()
    agent.server.server_close()


def test_protection_is_asked_for_as_ecs_wants_it(agent: EcsAgent) -> None:
    protection = TaskProtection.of({AGENT_VARIABLE: agent.uri})
    assert protection is not None

    protection.set(60)
    protection.set(None)

    path = "/api/0123/task-protection/v1/state"
    assert agent.put == [
        (path, {"ProtectionEnabled": True, "ExpiresInMinutes": 60}),
        (path, {"ProtectionEnabled": False}),
    ]


def test_outside_of_ecs_there_is_nothing_to_ask() -> None:
    assert TaskProtection.of({}) is None


@pytest.mark.parametrize(
    "answer",
    [
        (200, {"failure": {"Arn": "a", "Reason": "DEPLOYMENT_BLOCKED"}}),
        (400, {"error": {"Code": "AccessDeniedException"}}),
        (500, b"oh no"),
        (200, b"not JSON"),
        (200, []),
    ],
    ids=["refused", "not allowed", "broken", "no JSON", "another form"],
)
def test_protection_that_was_not_set_is_told(
    agent: EcsAgent, answer: tuple[int, Any]
) -> None:
    """ECS answers 200 also for what it refused."""
    agent.answer = answer

    with pytest.raises(Unavailable, match="task protection was not set"):
        TaskProtection(agent.uri).set(60)
