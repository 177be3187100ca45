"""Failure queues, logs, Slack and mail in memory, for the digest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lambdas.dlq_digest.letters import Raw
from lambdas.dlq_digest.tell import Answer


@dataclass
class FakeBox:
    """A :class:`lambdas.dlq_digest.letters.Letterbox`; ``hidden`` are held letters."""

    letters: list[Raw] = field(default_factory=list)
    hidden: list[Raw] = field(default_factory=list)
    moving: bool = False
    failures: list[Exception] = field(default_factory=list)
    receives: int = 0

    def waiting(self) -> int:
        if self.failures:
            raise self.failures.pop(0)
        return len(self.letters) + len(self.hidden)

    def is_moving(self) -> bool:
        return self.moving

    def receive(self, hide_seconds: int) -> list[Raw]:  # noqa: ARG002
        self.receives += 1
        batch, self.letters = self.letters[:10], self.letters[10:]
        self.hidden += batch
        return batch

    def release(self, letters: list[Raw]) -> None:
        ids = {raw.id for raw in letters}
        self.hidden = [raw for raw in self.hidden if raw.id not in ids]
        self.letters += letters


@dataclass
class FakeLogs:
    """A :class:`lambdas.dlq_digest.reconcile.Attempts`; lines by request id."""

    said: dict[str, list[str]] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)

    def lines(
        self, _group: str, request_id: str, _since_ms: int, _until_ms: int
    ) -> list[str]:
        if self.failures:
            raise self.failures.pop(0)
        return self.said.get(request_id, [])


@dataclass
class FakeSlack:
    """A :class:`lambdas.dlq_digest.tell.Post`: answers in turn, then ``ok``."""

    answers: list[Answer | Exception] = field(default_factory=list)
    posted: list[dict[str, Any]] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)

    def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        self.urls.append(url)
        self.headers.append(headers)
        self.posted.append(json.loads(body))
        answer = self.answers.pop(0) if self.answers else ok()
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class FakeMail:
    """A :class:`lambdas.dlq_digest.tell.Mail`."""

    sent: list[tuple[str, str]] = field(default_factory=list)

    def send(self, subject: str, text: str) -> None:
        self.sent.append((subject, text))


def ok() -> Answer:
    return answer(200, "ok")


def answer(status: int, body: str, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, body=body.encode(), headers=named)
