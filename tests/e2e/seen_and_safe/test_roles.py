"""Least privilege, judged by an engine that evaluates policies.

What a role may do, the whole story on this stack has shown; this shows what each
may not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner

from cli.main import app
from local.demo import post
from local.home import ROOT, Home
from local.stack import LocalStack
from tests.e2e.test_local_stack import as_function

POLICY = ROOT / "docs/reference/operator-policy.json"

FUNCTIONS = (
    *("receiver", "relay", "sweep", "dlq_digest", "cron", "watcher"),
    *("worker:counter", "worker:issue-triage"),
)


def scan(stack: LocalStack, client: Callable[[str], Any]) -> None:
    client("dynamodb").scan(TableName=stack.ledger_table)


def read_the_ledger(stack: LocalStack, client: Callable[[str], Any]) -> None:
    key = {"pk": {"S": "github:1"}, "sk": {"S": "event"}}
    client("dynamodb").get_item(TableName=stack.ledger_table, Key=key)


def delete_a_row(stack: LocalStack, client: Callable[[str], Any]) -> None:
    key = {"pk": {"S": "github:1"}, "sk": {"S": "event"}}
    client("dynamodb").delete_item(TableName=stack.ledger_table, Key=key)


def read_a_secret(stack: LocalStack, client: Callable[[str], Any]) -> None:
    client("secretsmanager").get_secret_value(SecretId="bellhop/stripe")


def read_a_body(stack: LocalStack, client: Callable[[str], Any]) -> None:
    client("s3").get_object(Bucket=stack.payload_bucket, Key="events/x")


def publish(stack: LocalStack, client: Callable[[str], Any]) -> None:
    entry = {"Source": "bellhop.github", "DetailType": "x", "Detail": "{}"}
    client("events").put_events(Entries=[{**entry, "EventBusName": stack.bus}])


def take_work_of_another(stack: LocalStack, client: Callable[[str], Any]) -> None:
    client("sqs").receive_message(QueueUrl=stack.queues["bookkeeper"].url)


def delete_a_letter(stack: LocalStack, client: Callable[[str], Any]) -> None:
    queue = stack.queues["bookkeeper"].dlq_url
    client("sqs").delete_message(QueueUrl=queue, ReceiptHandle="x")


def change_code(stack: LocalStack, client: Callable[[str], Any]) -> None:
    name = stack.functions["receiver"]
    client("lambda").update_function_configuration(FunctionName=name, Timeout=900)


# What each must not have, though others have it or would find it handy.
DENIED = {
    "receiver": [scan, read_the_ledger, delete_a_row, read_a_body, publish],
    "relay": [scan, read_the_ledger, delete_a_row, read_a_secret, read_a_body],
    "sweep": [scan, delete_a_row, read_a_secret, take_work_of_another],
    "dlq_digest": [scan, delete_a_row, read_a_secret, delete_a_letter, publish],
    "cron": [scan, delete_a_row, read_a_secret, publish],
    "watcher": [scan, read_a_secret, publish, take_work_of_another],
    "worker:counter": [scan, delete_a_row, read_a_secret, take_work_of_another],
    "worker:issue-triage": [scan, delete_a_row, read_a_secret, publish],
}


@pytest.mark.parametrize(
    ("function", "attempt"),
    [(name, each) for name, attempts in DENIED.items() for each in attempts],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_function_is_denied_what_is_not_its_work(
    seen: LocalStack, function: str, attempt: Callable[..., None]
) -> None:
    def client(service: str) -> Any:
        return as_function(seen, function, service)

    with pytest.raises(ClientError, match=r"AccessDenied|not authorized"):
        attempt(seen, client)


def test_every_function_is_denied_something(seen: LocalStack) -> None:
    ours = {name for name in seen.functions if not name.startswith("worker:")}

    assert ours == {name for name in DENIED if not name.startswith("worker:")}


@pytest.fixture(scope="module")
def operator(seen: LocalStack) -> dict[str, str]:
    """A user who has the documented policy and nothing else."""
    words = {
        "ACCOUNT": "000000000000",
        "REGION": seen.region,
        "STACK": seen.stack_name,
        "LEDGER_TABLE": seen.ledger_table,
        "PAYLOAD_BUCKET": seen.payload_bucket,
        "BUS_NAME": seen.bus,
        "KEY_ID": "*",
    }
    text = POLICY.read_text(encoding="utf-8")
    for word, value in words.items():
        text = re.sub(rf"\b{word}\b", value, text)
    iam = seen.client("iam")
    iam.create_user(UserName="operator")
    iam.put_user_policy(UserName="operator", PolicyName="Bellhop", PolicyDocument=text)
    key = iam.create_access_key(UserName="operator")["AccessKey"]
    return {"id": key["AccessKeyId"], "secret": key["SecretAccessKey"]}


@pytest.fixture
def bellhop(
    seen: LocalStack,
    home: Home,
    fleet: Path,
    operator: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Any]:
    """The command line with the operator's keys."""
    told = json.loads(home.stack_file.read_text(encoding="utf-8"))
    told["access_key_id"] = operator["id"]
    told["secret_access_key"] = operator["secret"]
    (tmp_path / "stack.json").write_text(json.dumps(told), encoding="utf-8")
    monkeypatch.setenv("BELLHOP_LOCAL_FOLDER", str(tmp_path))
    monkeypatch.setenv("BELLHOP_FLEET", str(fleet))

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, [*words, "--local", "--json"])

    return run


def test_an_operator_can_use_the_verbs(
    seen: LocalStack, bellhop: Callable[..., Any]
) -> None:
    answer = post.send(seen, "slack", post.signed(seen, "slack", "app_mention"))
    event_id = str(answer.event_id)
    for words in (
        ("events",),
        ("show", event_id),
        ("audit", event_id),
        ("dead", "list"),
        ("secret", "status"),
        ("relay", "--since", "1h", "--until", "0s", "--dry-run"),
    ):
        result = bellhop(*words)
        assert result.exit_code in (0, 1), (words, result.output)
        assert "AccessDenied" not in result.output, (words, result.output)
        assert "not authorized" not in result.output, (words, result.output)


@pytest.mark.parametrize(
    "attempt", [scan, delete_a_row, change_code], ids=lambda each: each.__name__
)
def test_an_operator_is_denied_the_rest(
    seen: LocalStack, operator: dict[str, str], attempt: Callable[..., None]
) -> None:
    def client(service: str) -> Any:
        return boto3.client(  # type: ignore[call-overload]
            service,
            endpoint_url=seen.endpoint,
            region_name=seen.region,
            aws_access_key_id=operator["id"],
            aws_secret_access_key=operator["secret"],
        )

    with pytest.raises(ClientError, match=r"AccessDenied|not authorized"):
        attempt(seen, client)
