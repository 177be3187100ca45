"""A running local stack, as the command line, the tests and the bench use it."""

from __future__ import annotations

import functools
import json
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from local.home import Home, LocalError, is_alive, read_json, write_json
from local.hooks import sitecustomize
from local.wire import PLAYED_BY_AWS, Wire

# The engine answers from this machine: a slow answer is a busy machine.
_CONFIG = Config(
    retries={"total_max_attempts": 2, "mode": "standard"},
    max_pool_connections=64,
    read_timeout=60,
    s3={"addressing_style": "path"},
)


@functools.cache
def client_of(
    service: str, endpoint: str, region: str, key_id: str, secret_key: str
) -> Any:
    """Return a client of the engine at ``endpoint``, made once."""
    return boto3.client(  # type: ignore[call-overload]
        service,
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=key_id,
        aws_secret_access_key=secret_key,
        config=_CONFIG,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOf:
    """An agent's queue and its dead letters."""

    url: str
    arn: str
    dlq_url: str
    dlq_arn: str


@dataclass(frozen=True, kw_only=True)
class LocalStack:
    """What ``stack.json`` says, with the calls that everybody needs."""

    pid: int
    endpoint: str
    region: str
    access_key_id: str
    secret_access_key: str
    stack_name: str
    api_url: str
    outputs: Mapping[str, str]
    ledger_table: str
    bus: str
    payload_bucket: str
    queues: Mapping[str, QueueOf]
    other_dlqs: Mapping[str, str]
    functions: Mapping[str, str]
    secrets: Mapping[str, str]
    world_url: str
    clock_file: Path
    log_dir: Path

    def client(self, service: str) -> Any:
        """Return a boto3 client of the engine, with an operator's rights."""
        return client_of(
            service,
            self.endpoint,
            self.region,
            self.access_key_id,
            self.secret_access_key,
        )

    @property
    def wire(self) -> Wire:
        """The record of every call that the functions made."""
        return Wire(path=self.log_dir / "wire.jsonl")

    def webhook_url(self, source: str) -> str:
        """Return where the sender of ``source`` posts to."""
        return f"{self.api_url.rstrip('/')}/webhooks/{source}"

    def secret(self, source: str) -> str:
        """Return the present secret of a source, to sign with."""
        text: str = self.client("secretsmanager").get_secret_value(
            SecretId=self.secrets[source]
        )["SecretString"]
        if text.startswith("{"):
            current: str = json.loads(text)["current"]
            return current
        return text

    def rows(self, event_id: str) -> dict[str, dict[str, Any]]:
        """Return the whole story of an event: its rows by their sort key."""
        found = self.client("dynamodb").query(
            TableName=self.ledger_table,
            KeyConditionExpression="pk = :id",
            ExpressionAttributeValues={":id": {"S": event_id}},
            ConsistentRead=True,
        )["Items"]
        return {row["sk"]["S"]: _plain(row) for row in found}

    def row_count(self) -> int:
        """Return how many rows the ledger holds in all."""
        pages = (
            self.client("dynamodb")
            .get_paginator("scan")
            .paginate(TableName=self.ledger_table, Select="COUNT", ConsistentRead=True)
        )
        return sum(page["Count"] for page in pages)

    def waiting(self, queue_url: str) -> int:
        """Return how many messages a queue holds, the hidden ones included."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = self.client("sqs").get_queue_attributes(
            QueueUrl=queue_url, AttributeNames=names
        )["Attributes"]
        return sum(int(attributes[name]) for name in names)

    def dead_letters(self, agent: str) -> int:
        """Return how many dead letters an agent has."""
        return self.waiting(self.queues[agent].dlq_url)

    def effects(self, path: str = "") -> list[dict[str, Any]]:
        """Return what happened in the outside world at paths holding ``path``."""
        with urllib.request.urlopen(  # noqa: S310 - the loopback
            f"{self.world_url}/_effects", timeout=60
        ) as answer:
            listed: list[dict[str, Any]] = json.load(answer)
        return [effect for effect in listed if path in effect["path"]]

    def behave(self, path: str, **behaviour: Any) -> None:
        """Let a path of the outside world behave so; see ``local/world.py``."""
        self._command("_behave", {"path": path, **behaviour})

    def serve(self, address: str, text: str) -> None:
        """Let the outside world publish ``text`` at an https:// address."""
        path = "/" + address.removeprefix("https://").partition("?")[0]
        self._command("_serve", {"path": path, "text": text})

    def reset_world(self) -> None:
        """Forget what happened in the outside world and how it behaves."""
        self._command("_reset", {})

    def _command(self, name: str, body: dict[str, Any]) -> None:
        request = urllib.request.Request(  # noqa: S310 - the loopback
            f"{self.world_url}/{name}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method="POST",
        )
        urllib.request.urlopen(request, timeout=60).close()  # noqa: S310

    def report(self, event: Mapping[str, Any], *, bus: str = "default") -> str:
        """Put an event on a bus as an AWS service would; return its id.

        ``event`` is an EventBridge envelope; the bus itself adds id, time,
        account and region.
        """
        entry = {
            "Source": event["source"],
            "DetailType": event["detail-type"],
            "Resources": event.get("resources", []),
            "Detail": json.dumps(event.get("detail", {})),
            "EventBusName": bus,
            "TraceHeader": PLAYED_BY_AWS,
        }
        (answer,) = self.client("events").put_events(Entries=[entry])["Entries"]
        if "EventId" not in answer:
            raise LocalError(f"the bus refused it: {answer['ErrorMessage']}")
        return f"aws:{event['source']}:{answer['EventId']}"

    def set_clock(self, text: str = "") -> None:
        """Move every function's clock; see ``lambdas/shared/clock.py``."""
        self.clock_file.write_text(text, encoding="utf-8")

    def trouble(self, call: str, *, delay_ms: int = 0, refuse_every: int = 0) -> None:
        """Make the functions' calls named so slow or refused; see ``local/trouble.py``.

        Without a delay and a refusal there is no trouble any more.
        """
        told = {"call": call, "delay_ms": delay_ms, "refuse_every": refuse_every}
        file = self.clock_file.with_name("trouble")
        if delay_ms or refuse_every:
            write_json(file, told)
        else:
            file.unlink(missing_ok=True)

    def arm(self, *points: str) -> None:
        """Kill each function that reaches one of ``points`` next, once.

        ``before|after:<service>.<Operation>:<n>[@<part of the function's name>]``
        and ``#<event id>``, if it is to be about that event; see
        ``local/hooks/sitecustomize.py``. Earlier points are taken back.
        """
        for point in points:
            check_point(point)
        (self.log_dir / "kill.fuse").unlink(missing_ok=True)
        file = self.clock_file.with_name("kill")
        draft = file.with_name("kill.draft")
        draft.write_text("\n".join(points), encoding="utf-8")
        draft.replace(file)

    def fired(self) -> dict[str, Any] | None:
        """Return what an armed point killed last, or None: none was reached."""
        return next(reversed(self.all_fired()), None)

    def all_fired(self) -> list[dict[str, Any]]:
        """Return what the armed points killed, in their order."""
        try:
            text = (self.log_dir / "kill.fuse").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.splitlines()]


def check_point(point: str) -> None:
    """Refuse what is no kill point.

    Raises:
        LocalError: what was wanted, and what was given.
    """
    try:
        sitecustomize.parse(point)
    except ValueError as error:
        raise LocalError(str(error)) from error


def wait_for(
    condition: Callable[[], Any], *, seconds: float = 180, every: float = 0.1
) -> Any:
    """Return the first truthy value of ``condition``, or its last value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() >= deadline:
            return value
        time.sleep(every)


def connect(home: Home | None = None) -> LocalStack:
    """Return the stack that runs under ``home`` (``.local``).

    Raises:
        LocalError: none runs there; the message says how to start one.
    """
    home = home or Home()
    found = read_json(home.stack_file)
    if found is None or not is_alive(found["pid"]):
        raise LocalError("no local stack is running: start one with `make up`")
    return from_json(found)


def from_json(found: Mapping[str, Any]) -> LocalStack:
    """Read what ``stack.json`` holds."""
    fields = {name: value for name, value in found.items() if name != "schema"}
    fields["queues"] = {
        agent: QueueOf(**queue) for agent, queue in found["queues"].items()
    }
    fields["clock_file"] = Path(found["clock_file"])
    fields["log_dir"] = Path(found["log_dir"])
    return LocalStack(**fields)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    from boto3.dynamodb.types import TypeDeserializer

    read = TypeDeserializer().deserialize
    return {name: read(value) for name, value in row.items()}
