"""The whole receiver as it is wired, over AWS's own interfaces: calls are counted."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from cli.signers import github
from cli.signers.draft import Draft
from lambdas.receiver import handler
from lambdas.shared.adapters import aws, direct
from lambdas.shared.adapters.dynamodb import ledger
from lambdas.shared.settings import ReceiverSettings
from tests.flows.receiver.test_vectors import Context
from tests.unit.receiver import signed
from tests.unit.receiver.door import NOW, SECRET, Call

GITHUB = signed.call("github")
SETTINGS = ReceiverSettings(ledger_table="ledger", payload_bucket="payloads")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Deploy a receiver onto moto; count the operations that leave it."""
    fleet = tmp_path / "fleet.toml"
    fleet.write_text("[sources.github]\nsecret_name = 'cafe/github'\n")
    monkeypatch.setenv("BELLHOP_FLEET", str(fleet))
    for name, value in SETTINGS.to_env().items():
        monkeypatch.setenv(name, value)
    forget()
    counts: Counter[str] = Counter()
    with mock_aws():
        make_table()
        region = {"LocationConstraint": "eu-central-1"}
        boto3.client("s3").create_bucket(
            Bucket="payloads",
            CreateBucketConfiguration=region,  # type: ignore[arg-type]
        )
        boto3.client("secretsmanager").create_secret(
            Name="cafe/github", SecretString=SECRET
        )
        for service in ("dynamodb", "s3", "secretsmanager"):
            for client in (aws.client(service), aws.again(service)):
                client.meta.events.register(
                    "before-send",
                    lambda request, **_: count(counts, request.headers, request.method),
                )
        send = direct.post

        def post(url: str, headers: Mapping[str, str], body: bytes) -> direct.Answer:
            count(counts, headers, "POST")
            return send(url, headers, body)

        monkeypatch.setattr(direct, "post", post)
        yield counts
    forget()


def forget() -> None:
    aws.client.cache_clear()
    aws.again.cache_clear()
    handler._intake.cache_clear()


def make_table() -> None:
    keys = {"pk": "HASH", "sk": "RANGE"}
    boto3.client("dynamodb").create_table(
        TableName="ledger",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": k, "KeyType": v} for k, v in keys.items()],  # type: ignore[typeddict-item]
        AttributeDefinitions=[{"AttributeName": k, "AttributeType": "S"} for k in keys],
    )


def count(counts: Counter[str], headers: Mapping[str, Any], method: str) -> None:
    target = headers.get("X-Amz-Target") or f"S3.{method}"
    target = target.decode() if isinstance(target, bytes) else target
    counts[target.rpartition(".")[2]] += 1


def knock(call: Call) -> tuple[int, Any]:
    answer = handler.handle(call.to_api_gateway("github"), Context())  # type: ignore[arg-type]
    return answer["statusCode"], json.loads(answer["body"])


def test_new_duplicate_and_forged_cost_1_1_and_0_calls(calls: Counter[str]) -> None:
    forged = dataclasses.replace(GITHUB, body=GITHUB.body + b" ")

    assert knock(forged)[0] == 401
    assert calls.pop("GetSecretValue") == 2  # the first use, and the second look
    assert calls == {}

    assert knock(GITHUB)[0] == 200
    assert calls == {"PutItem": 1}

    assert knock(GITHUB)[1]["deduplicated"] is True
    assert calls == {"PutItem": 2}


def test_body_that_goes_to_s3_costs_2_calls(calls: Counter[str]) -> None:
    noise = random.Random(7).randbytes(200_000).hex()  # noqa: S311 - only noise
    call = signed_body(json.dumps({"action": "opened", "noise": noise}).encode())
    assert knock(GITHUB)[0] == 200
    calls.clear()

    status, told = knock(call)

    assert status == 200
    assert calls == {"PutItem": 1, "PUT": 1}
    event = ledger(SETTINGS, ledger_days=45).event(told["event_id"])
    assert event is not None
    assert event.body == call.body


def signed_body(body: bytes) -> Call:
    delivery = github.sign(
        Draft(event="issues", body=body, secret=SECRET, at=NOW, id="large")
    )
    return Call(headers=delivery.headers, body=delivery.body)


def test_what_was_accepted_is_read_back_as_it_came(calls: Counter[str]) -> None:
    _, told = knock(GITHUB)

    event = ledger(SETTINGS, ledger_days=45).event(told["event_id"])

    assert event is not None
    assert (event.kind, event.body) == ("issues.opened", GITHUB.body)
    assert event.facts["action"] == "opened"
    assert calls["PutItem"] == 1


def test_table_that_is_gone_is_our_fault(calls: Counter[str]) -> None:
    boto3.client("dynamodb").delete_table(TableName="ledger")

    status, told = knock(GITHUB)

    assert (status, told) == (500, {"error": "internal"})
