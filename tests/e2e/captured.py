"""Captured signed requests: a fleet of their own, and the bytes put on the wire."""

from __future__ import annotations

import base64
import http.client
import json
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from lambdas.receiver.senders import load
from lambdas.shared import senders
from lambdas.shared.fleet import FleetError, Generic, Source, parse
from lambdas.shared.values import instant
from local.stack import LocalStack

Vector = Mapping[str, Any]

# Senders of the vectors that have no module, as a table describes them.
_GENERIC = {
    "hmac-sha1-hex-list": {"algorithm": "sha1", "signature_header": "X-Signature"},
    "hmac-sha256-hex-list": {"algorithm": "sha256", "signature_header": "X-Signature"},
    "hmac-sha1-hex-body+date": {
        "algorithm": "sha1",
        "signature_header": "X-Signature",
        "signed": "{body}{timestamp}",
        "timestamp_header": "Date",
    },
}
_ANY = Generic(algorithm="sha256", signature_header="X-Signature")
_GOOGLE_KEYS = "https://www.googleapis.com/oauth2/v3/certs"
# What a vector tells, by the sender's own keys of the table.
_OPTIONS = {
    "audience": "audience",
    "service_account_email": "service_account",
    "webhook_id": "webhook_id",
    "verify_token": "verify_token",
}


@dataclass(frozen=True, slots=True)
class Doorway:
    """A source of the fleet: one per sender, secret, window and address."""

    name: str
    table: Mapping[str, Any]
    secret: str

    def toml(self) -> str:
        """Return the table as ``fleet.toml`` holds it."""
        lines = [f"{key} = {json.dumps(value)}" for key, value in self.table.items()]
        return "\n".join([f"[sources.{self.name}]", *lines, ""])


@dataclass(slots=True)
class Doorways:
    """The sources that all vectors together need."""

    found: dict[str, Doorway] = field(default_factory=dict)

    def of(self, vector: Vector) -> Doorway | str:
        """Return the source of ``vector``, or why no fleet can hold it."""
        sender = "generic" if vector["scheme"] in _GENERIC else vector["sender"]
        if sender not in senders.names():
            return "no such sender"
        table = _table(sender, vector)
        secret = _secret(vector)
        key = json.dumps([table, secret])
        if key not in self.found:
            doorway = Doorway(f"{sender}-{len(self.found)}", table, secret)
            try:
                parse(
                    f"[fleet]\nwarm = 0\n{doorway.toml()}", find_traits=senders.traits
                )
            except FleetError as error:
                return error.problems[0].partition(": ")[2].partition(": ")[2]
            self.found[key] = doorway
        return self.found[key]


def fleet(doorways: Iterable[Doorway]) -> str:
    """Return a ``fleet.toml`` of those sources and no agent."""
    tables = [doorway.toml() for doorway in doorways]
    # No receiver is kept warm: nothing here gives up after a second.
    return "\n".join(["[fleet]\nwarm = 0\n", *tables])


def _table(sender: str, vector: Vector) -> dict[str, Any]:
    traits = senders.traits(sender)
    table: dict[str, Any] = {"sender": sender, **_GENERIC.get(vector["scheme"], {})}
    if not traits.has_delivery_id or sender == "generic":
        table["identity"] = "body"
    if vector.get("tolerance_s"):
        table["tolerance_seconds"] = vector["tolerance_s"]
    if vector.get("url") and traits.needs_public_url:
        table["public_url"] = vector["url"]
    for told, key in _OPTIONS.items():
        if vector.get(told) and key in traits.options:
            table[key] = vector[told]
    if "topics" in traits.options:
        table["topics"] = [json.loads(body(vector))["TopicArn"]]
    return table


def publish(stack: LocalStack, vector: Vector) -> None:
    """Let the outside world hold the keys that a vector is to be judged by."""
    headers = {name.lower(): value for name, value in vector["headers"].items()}
    if vector.get("jwks"):
        stack.serve(_GOOGLE_KEYS, json.dumps(vector["jwks"]))
    if vector.get("certificate_pem"):
        address = headers.get("paypal-cert-url") or _told(vector, "SigningCertURL")
        stack.serve(address, vector["certificate_pem"])
    if confirmed := _told(vector, "SubscribeURL"):
        stack.serve(confirmed, "<ConfirmSubscriptionResponse/>")


def _told(vector: Vector, name: str) -> str:
    try:
        told = json.loads(body(vector))
    except ValueError:
        return ""
    return str(told.get(name) or "") if isinstance(told, dict) else ""


def _secret(vector: Vector) -> str:
    """Return what Secrets Manager holds for a vector; nothing where keys are fetched.

    An empty secret cannot be stored there; as JSON it says the same.
    """
    further = vector.get("additional_secrets") or []
    if vector["secret"] is None:
        return ""
    if vector["secret"] and not further:
        return str(vector["secret"])
    values = dict(
        zip(("current", "previous"), [vector["secret"], *further], strict=False)
    )
    return json.dumps(values)


def body(vector: Vector) -> bytes:
    """Return a vector's exact body."""
    repeat = vector.get("body_repeat")
    if repeat:
        return bytes(repeat["char"].encode() * repeat["count"])
    return base64.b64decode(vector["body_b64"] or "")


def is_one_event(vector: Vector) -> bool:
    """Whether the sender puts one event into a request, whose body it then is."""
    sender = "generic" if vector["scheme"] in _GENERIC else vector["sender"]
    source = Source(name=sender, sender=sender, secret_name="unused", generic=_ANY)
    return load(source).split is None


def judged_at(vector: Vector) -> datetime:
    """Return the time to judge at: told, the message's own, or now."""
    if vector["now"] is not None:
        return datetime.fromtimestamp(vector["now"], UTC)
    return instant(vector["timestamp"]) or datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Heard:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def event_ids(self) -> list[str]:
        """The ids that the request's events were accepted under."""
        try:
            told = json.loads(self.body)
        except ValueError:
            return []
        if not isinstance(told, dict) or not told.get("event_id"):
            return []
        return list(told.get("event_ids") or [told["event_id"]])


def send(
    stack: LocalStack,
    source: str,
    *,
    method: str,
    query: str,
    headers: Mapping[str, str],
    content: bytes,
) -> Heard:
    """Write the request to a socket as it is: http.client refuses what is not ASCII."""
    url = urlsplit(
        f"{stack.webhook_url(source)}?{query}" if query else stack.webhook_url(source)
    )
    target = f"{url.path}?{url.query}" if url.query else url.path
    own = {
        "Host": url.netloc,
        "Content-Length": str(len(content)),
        "Connection": "close",
    }
    kept = {n: v for n, v in headers.items() if n.title() not in own}
    lines = [
        f"{method} {target} HTTP/1.1",
        *(f"{n}: {v}" for n, v in {**own, **kept}.items()),
    ]
    head = "\r\n".join([*lines, "", ""]).encode()
    with socket.create_connection((url.hostname, url.port), timeout=60) as wire:
        wire.sendall(head + content)
        answer = http.client.HTTPResponse(wire, method=method)
        answer.begin()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return Heard(answer.status, told, answer.read())
