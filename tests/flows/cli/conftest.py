"""A deployed stack: AWS is moto, the door is the real receiver on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner, Result

from cli.main import app
from lambdas.receiver.intake import Intake
from lambdas.shared import clock, fleet
from lambdas.shared.adapters.dynamodb import DynamoTable
from lambdas.shared.adapters.s3 import S3Bodies
from lambdas.shared.adapters.secretsmanager import SecretsManager
from lambdas.shared.ledger import TableLedger
from lambdas.shared.secrets import Secrets
from tests.unit.receiver.door import Call

TABLE, BUCKET, BUS = "ledger", "payloads", "fleet"
SOURCES = ("github", "slack", "billing")
FLEET = """
[sources.github]
[sources.slack]
[sources.billing]
sender = "stripe"

[agents.hello]
run = "agents.hello:run"
on = [{ source = "github", kind = "issues.opened" }]
"""


@dataclass(frozen=True)
class Answered:
    """How a command ended; ``json`` is what a program would read."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Stack:
    """The stack, and the command line that is pointed at it."""

    url: str
    clock_file: Path
    table: DynamoTable

    def run(
        self, *words: str, stdin: str = "", text: bool = False, name: str = "Bellhop"
    ) -> Answered:
        """Run ``bellhop``; JSON unless a person's ``text`` is asked for."""
        options = ["--stack", name, *([] if text else ["--json"])]
        result: Result = CliRunner().invoke(app, [*words, *options], input=stdin)
        unforeseen = result.exception
        if unforeseen is not None and not isinstance(unforeseen, SystemExit):
            raise unforeseen
        # The receiver's metrics go to the same place: it runs in this process.
        lines = result.stdout.splitlines(keepends=True)
        out = "".join(line for line in lines if not line.startswith('{"_aws"'))
        return Answered(result.exit_code, out, result.stderr)

    def secret(self, source: str) -> str:
        """Return the SecretString as it is stored."""
        client = boto3.client("secretsmanager")
        return client.get_secret_value(SecretId=f"bellhop/{source}")["SecretString"]

    def pass_time(self, seconds: int) -> None:
        """Move the clock of the receiver and the command line alike."""
        self.clock_file.write_text(f"+{seconds}", encoding="utf-8")


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    """A stack with three sources whose secrets are set, and one agent."""
    file = tmp_path / "fleet.toml"
    file.write_text(FLEET, encoding="utf-8")
    clock_file = tmp_path / "clock"
    monkeypatch.setenv("BELLHOP_FLEET", str(file))
    monkeypatch.setenv("BELLHOP_CLOCK_FILE", str(clock_file))
    with mock_aws():
        dynamodb, s3 = boto3.client("dynamodb"), boto3.client("s3")
        table = DynamoTable(TABLE, lambda: dynamodb)
        ledger = TableLedger(table, S3Bodies(BUCKET, lambda: s3), ledger_days=45)
        secrets = Secrets(SecretsManager(boto3.client("secretsmanager")), clock.now)
        intake = Intake(
            fleet=fleet.load(), ledger=ledger, secrets=secrets, clock=clock.now
        )
        server = _Server(("127.0.0.1", 0), _door(intake))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        # moto's own needs a heap of packages; one operation is all that is asked.
        monkeypatch.setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", url)
        _deploy()
        yield Stack(url=url, clock_file=clock_file, table=table)
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 64


def _deploy() -> None:
    boto3.client("dynamodb").create_table(**_table())
    boto3.client("events").create_event_bus(Name=BUS)
    boto3.client("s3").create_bucket(
        Bucket=BUCKET,
        CreateBucketConfiguration={"LocationConstraint": "eu-central-1"},
    )
    secrets = boto3.client("secretsmanager")
    for name in SOURCES:
        secrets.create_secret(Name=f"bellhop/{name}", SecretString=f"first-{name}")


def _described(url: str, name: str) -> tuple[int, str]:
    """Answer DescribeStacks as CloudFormation does."""
    if name != "Bellhop":
        message = f"Stack with id {name} does not exist"
        return 400, (
            "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>"
            f"<Message>{message}</Message></Error></ErrorResponse>"
        )
    outputs = {"ApiUrl": url, "LedgerTable": TABLE, "PayloadBucket": BUCKET}
    outputs["BusName"] = BUS
    members = "".join(
        f"<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>"
        for key, value in outputs.items()
    )
    return 200, (
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member>"
        f"<StackName>{name}</StackName><StackStatus>CREATE_COMPLETE</StackStatus>"
        f"<CreationTime>2026-11-29T12:00:00Z</CreationTime><Outputs>{members}</Outputs>"
        "</member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
    )


def _table() -> dict[str, Any]:
    def keys(partition: str, sort: str) -> list[dict[str, str]]:
        return [
            {"AttributeName": partition, "KeyType": "HASH"},
            {"AttributeName": sort, "KeyType": "RANGE"},
        ]

    names = ("pk", "sk", "accepted", "received_at")
    return {
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": keys("pk", "sk"),
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in names
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by-time",
                "KeySchema": keys("accepted", "received_at"),
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    }


def _door(intake: Intake) -> type[BaseHTTPRequestHandler]:
    # moto's tables are not atomic under threads: one request at a time.
    one_by_one = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            sent, parts = self.rfile.read(length), urlsplit(self.path)
            if parts.path == "/":
                url = f"http://{self.headers['Host']}"
                status, text = _described(url, parse_qs(sent.decode())["StackName"][0])
            else:
                call = Call(dict(self.headers.items()), sent, query=parts.query)
                source = parts.path.rpartition("/")[2]
                with one_by_one:
                    answer = intake.answer(call.to_api_gateway(source))
                status, text = answer["statusCode"], answer["body"]
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler
