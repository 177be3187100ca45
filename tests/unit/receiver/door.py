"""A receiver with fakes around it, and requests as API Gateway hands them over."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lambdas.receiver.intake import Intake
from lambdas.shared.errors import BellhopError, Misconfigured
from lambdas.shared.event import Event
from lambdas.shared.fetch import Fetcher
from lambdas.shared.fleet import Fleet, Source
from lambdas.shared.secrets import Secrets
from tests.fakes.outside import FakeHttps

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
# Made up; good as text, as hex and as base64, whatever a sender makes of it.
SECRET = "5d41402abc4b2a76b9719d911017c592" * 2


@dataclass
class FakeClock:
    """Stands still until it is moved."""

    at: datetime = NOW

    def __call__(self) -> datetime:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@dataclass
class FakeStore:
    """Secrets by name; an error in place of a text is raised."""

    texts: dict[str, str | BellhopError] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    def fetch(self, name: str) -> str:
        self.fetched.append(name)
        text = self.texts.get(name, Misconfigured(f"no secret {name}"))
        if isinstance(text, BellhopError):
            raise text
        return text


@dataclass
class FakeLedger:
    """Accepts an id once; each of ``failures`` (by call, from 0) is raised instead."""

    events: dict[str, Event] = field(default_factory=dict)
    ignored: set[str] = field(default_factory=set)
    failures: dict[int, Exception] = field(default_factory=dict)
    calls: int = 0

    def accept(self, event: Event, *, ignored: bool = False) -> bool:
        self.calls += 1
        if self.calls - 1 in self.failures:
            raise self.failures[self.calls - 1]
        if event.id in self.events:
            return False
        self.events[event.id] = event
        if ignored:
            self.ignored.add(event.id)
        return True


@dataclass(frozen=True)
class Heard:
    """What the sender hears."""

    status: int
    headers: Mapping[str, str]
    body: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str | None:
        """The code of a refusal."""
        return json.loads(self.body).get("error") if self.status >= 400 else None


class Door:
    """One source behind a receiver."""

    def __init__(
        self, sender: str = "github", *, name: str | None = None, **source: Any
    ) -> None:
        """Open a door for ``sender`` with these keys of its ``[sources]`` table."""
        name = name or sender
        self.source = Source(
            name=name, sender=sender, secret_name=f"bellhop/{name}", **source
        )
        self.clock = FakeClock()
        self.store = FakeStore({self.source.secret_name: SECRET})
        self.ledger = FakeLedger()
        self.https = FakeHttps()

    @functools.cached_property
    def intake(self) -> Intake:
        return Intake(
            fleet=Fleet(sources={self.source.name: self.source}, agents={}),
            ledger=self.ledger,
            secrets=Secrets(self.store, self.clock),
            clock=self.clock,
            fetch=Fetcher(self.https, self.clock),
        )

    @property
    def secret(self) -> str | BellhopError:
        return self.store.texts[self.source.secret_name]

    @secret.setter
    def secret(self, text: str | BellhopError) -> None:
        self.store.texts[self.source.secret_name] = text

    @property
    def accepted(self) -> list[Event]:
        return list(self.ledger.events.values())

    def knock(self, request: Call) -> Heard:
        """Bring a request, return what is answered."""
        answer = self.intake.answer(request.to_api_gateway(self.source.name))
        return Heard(answer["statusCode"], answer["headers"], answer["body"])


@dataclass(frozen=True)
class Call:
    """A request on its way to the door; valid shapes unless a test says otherwise."""

    headers: Mapping[str, str]
    body: bytes = b""
    method: str = "POST"
    query: str = ""
    base64: bool = False
    source_ip: str = "192.0.2.7"
    raw_body: str | None = None

    def to_api_gateway(self, source: str) -> dict[str, Any]:
        """Return the HTTP API's payload 2.0."""
        text: str | None = self.raw_body
        if text is None and self.base64:
            text = base64.b64encode(self.body).decode()
        elif text is None:
            text = self.body.decode("utf-8", "surrogatepass") or None
        return {
            "version": "2.0",
            "routeKey": "ANY /webhooks/{source}",
            "rawPath": f"/webhooks/{source}",
            "rawQueryString": self.query,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "requestContext": {
                "domainName": "abc123.execute-api.eu-central-1.amazonaws.com",
                "requestId": "JKJaXmPLvHcESHA=",
                "http": {
                    "method": self.method,
                    "path": f"/webhooks/{source}",
                    "sourceIp": self.source_ip,
                },
            },
            "pathParameters": {"source": source},
            "body": text,
            "isBase64Encoded": self.base64,
        }

    def without(self, name: str) -> Call:
        """Return the request without a header."""
        kept = {n: v for n, v in self.headers.items() if n.lower() != name.lower()}
        return replace(self, headers=kept)

    def having(self, name: str, value: str) -> Call:
        """Return the request with a header changed or added."""
        return replace(self, headers={**self.without(name).headers, name: value})
