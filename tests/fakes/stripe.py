"""Stripe's API as effects use it: answers a known key as it answered first."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from tests.fakes.services import Reply, Request


class FakeStripe:
    """Objects by path. ``declines`` makes cards be refused, which is remembered."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.made: list[dict[str, Any]] = []
        self.declines = False
        self._answers: dict[str, tuple[bytes, Reply]] = {}

    def forget_keys(self) -> None:
        """Do what Stripe may do when a key is 24 hours old."""
        self._answers.clear()

    def __call__(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _error(401, "invalid_request_error", "Invalid API Key provided")
        key = request.headers.get("idempotency-key", "")
        if key in self._answers:
            body, reply = self._answers[key]
            if body == request.body:
                return reply
            return _error(400, "idempotency_error", "Keys for idempotent requests ...")
        reply = self._make(request)
        self._answers[key] = (request.body, reply)
        return reply

    def _make(self, request: Request) -> Reply:
        if self.declines:
            return _error(402, "card_error", "Your card was declined.")
        made = {
            "id": f"obj_{len(self.made) + 1}",
            "path": request.path,
            "client_secret": "obj_1_secret_abc",
            **dict(parse_qsl(request.body.decode())),
        }
        self.made.append(made)
        return Reply.of(made)


def _error(status: int, kind: str, message: str) -> Reply:
    return Reply.of({"error": {"type": kind, "message": message}}, status)
