"""What is confidential goes to the ledger and the agent, and nowhere else."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from cli.signers import Delivery, Draft, Signer
from lambdas.shared import clock
from local.demo import post
from local.home import Home
from local.stack import LocalStack, wait_for
from tests.e2e.seen_and_safe.conftest import SLACK, Logs
from tests.e2e.seen_and_safe.test_signals import invoke

SOURCE, AGENT, TOKEN = "roastery", "careless", "bellhop/careless"
# As real ones look, each with letters of its own.
FORMS = (
    *("ghp_{}", "github_pat_{}", "xoxb-{}", "sk_live_{}", "sk-proj-{}", "AKIA{}"),
    *("AIza{}", "glpat-{}", "npm_{}", "Bearer {}", "Basic {}", "eyJhbGciOi.{}.x"),
    *("whsec_{}", "hunter2-{}", "{}@example.com"),
)


def canaries(kind: str, number: int) -> list[str]:
    made = [FORMS[n % len(FORMS)] for n in range(number)]
    return [f.format(f"canary{kind}{secrets.token_hex(10)}") for f in made]


IN_HEADERS, IN_BODY = canaries("head", 10), canaries("body", 10)
IN_FORGED, IN_SECRETS = canaries("forged", 6), canaries("secret", 4)
ALL = [*IN_HEADERS, *IN_BODY, *IN_FORGED, *IN_SECRETS]
HEADERS = (
    *("authorization", "cookie", "x-api-key", "x-auth-token", "x-amz-security-token"),
    *("user-agent", "x-forwarded-for", "referer", "x-request-id", "x-canary"),
)


@pytest.fixture(scope="module")
def leaked(seen: LocalStack) -> str:
    """An event whose agent fails with all that it knows; everything at DEBUG."""
    for function in seen.functions.values():
        speak_of_everything(seen, function)
    manager = seen.client("secretsmanager")
    manager.put_secret_value(SecretId=TOKEN, SecretString=IN_SECRETS[0])
    event_id = send(seen, signed(seen, "order.leaked"))
    forge(seen)
    misconfigure(seen)
    assert wait_for(lambda: seen.dead_letters(AGENT) == 1)
    seen.set_clock("+86400")  # one digest a day; today's is another test's
    invoke(seen, "dlq_digest")
    seen.set_clock()
    return event_id


def speak_of_everything(stack: LocalStack, function: str) -> None:
    lambdas = stack.client("lambda")
    found = lambdas.get_function_configuration(FunctionName=function)
    variables = found["Environment"]["Variables"]
    told = {**variables, "POWERTOOLS_LOG_LEVEL": "DEBUG", "LOG_LEVEL": "DEBUG"}
    lambdas.update_function_configuration(
        FunctionName=function, Environment={"Variables": told}
    )


def signed(stack: LocalStack, kind: str) -> Delivery:
    content = {f"field {n}": canary for n, canary in enumerate(IN_BODY)}
    body = json.dumps({"type": kind, "data": content}).encode()
    draft = Draft(
        event=kind,
        body=body,
        media_type="application/json",
        secret=stack.secret(SOURCE),
        at=clock.now(),
        id=f"msg_{secrets.token_hex(8)}",
    )
    delivery = Signer("standard-webhooks").sign(draft)
    more = dict(zip(HEADERS, IN_HEADERS, strict=True))
    return replace(delivery, headers={**delivery.headers, **more})


def send(stack: LocalStack, delivery: Delivery) -> str:
    answer = post.send(stack, SOURCE, delivery)
    assert answer.is_success, answer
    return str(answer.event_id)


def forge(stack: LocalStack) -> None:
    """Refused requests: a wrong signature, no JSON, a canary as the signature."""
    good = signed(stack, "order.forged")
    one, two, three, four, five, six = IN_FORGED
    for body, headers, query in (
        (f'{{"x": "{one}"}}'.encode(), {}, ""),
        (two.encode(), {}, f"token={three}"),
        (good.body, {"webhook-signature": f"v1,{four}"}, ""),
        (good.body, {"webhook-timestamp": five}, ""),
        (good.body, {"webhook-id": f"{six} "}, ""),
    ):
        changed = {**good.headers, **headers}
        forged = replace(good, body=body, headers=changed, query=query)
        assert 400 <= post.send(stack, SOURCE, forged).status < 500


def misconfigure(stack: LocalStack) -> None:
    """A secret of the wrong form is our fault, and its log line names only its name."""
    manager = stack.client("secretsmanager")
    kept = stack.secret("linear")
    for value in (f'{{"current": ["{IN_SECRETS[1]}"]}}', f'{{"{IN_SECRETS[2]}": 1'):
        manager.put_secret_value(SecretId="bellhop/linear", SecretString=value)
        delivery = post.signed(stack, "github", "issues.opened")
        post.send(stack, "linear", delivery)
    manager.put_secret_value(SecretId="bellhop/linear", SecretString=kept)


def found_in(text: str) -> list[str]:
    return [canary for canary in ALL if canary in text]


def test_thirty_canaries_are_there_to_be_found(seen: LocalStack, leaked: str) -> None:
    """Else the rest of this file would prove nothing."""
    assert len(set(ALL)) == 30
    agent = seen.rows(leaked)[f"run#{AGENT}"]
    assert agent["state"] == "DEAD"
    event = seen.client("dynamodb").get_item(
        TableName=seen.ledger_table,
        Key={"pk": {"S": leaked}, "sk": {"S": "event"}},
    )["Item"]
    assert "body" in event


def test_no_log_group_holds_one(seen: LocalStack, leaked: str, logs: Logs) -> None:
    lines = logs.read()

    assert any(leaked in line for line in lines)
    assert [line for line in lines if found_in(line)] == []


def test_no_metric_holds_one(seen: LocalStack, leaked: str, logs: Logs) -> None:
    assert found_in(str(logs.metrics())) == []


def test_no_file_of_the_local_stack_holds_one(
    home: Home, seen: LocalStack, leaked: str
) -> None:
    files = [path for path in home.folder.rglob("*") if path.is_file()]
    live = [seen.secret(source) for source in seen.secrets]

    assert home.wire in files
    assert home.engine_log in files
    for path in files:
        text = path.read_bytes().decode("utf-8", "replace")
        assert found_in(text) == [], path
        assert [secret for secret in live if secret in text] == [], path


def test_no_message_of_a_queue_holds_one(seen: LocalStack, leaked: str) -> None:
    sqs = seen.client("sqs")
    urls = [
        *(queue.dlq_url for queue in seen.queues.values()),
        *(queue.url for queue in seen.queues.values()),
        *seen.other_dlqs.values(),
    ]
    bodies = [
        json.dumps(message)
        for url in urls
        for message in sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            VisibilityTimeout=0,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        ).get("Messages", [])
    ]

    assert any(leaked in body for body in bodies)
    assert [body for body in bodies if found_in(body)] == []


def test_no_digest_holds_one(seen: LocalStack, leaked: str) -> None:
    told = [
        json.dumps(effect["body"])
        for effect in seen.effects(SLACK.removeprefix("https://"))
    ]

    assert any(AGENT in text for text in told)
    assert [text for text in told if found_in(text)] == []


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize(
    "words",
    [
        ("events", "--limit", "200"),
        ("show", "EVENT"),
        ("dead", "list"),
        ("digest", "--preview"),
        ("audit", "EVENT"),
        ("secret", "status"),
        ("doctor",),
    ],
    ids=lambda words: words[0],
)
def test_no_verb_prints_one(
    seen: LocalStack,
    home: Home,
    fleet: Path,
    leaked: str,
    words: tuple[str, ...],
    as_json: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BELLHOP_LOCAL_FOLDER", str(home.folder))
    monkeypatch.setenv("BELLHOP_FLEET", str(fleet))
    given = [leaked if word == "EVENT" else word for word in words]
    live = [seen.secret(source) for source in seen.secrets]

    result = CliRunner().invoke(
        app, [*given, "--local", *(["--json"] if as_json else [])], env=dict(os.environ)
    )

    assert result.exit_code in (0, 1), result.output
    assert result.stdout
    assert found_in(result.output) == []
    assert [secret for secret in live if secret in result.output] == []
