"""The ports under test: the fake that other tests use, and AWS as moto plays it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.dynamodb import DynamoTable
from lambdas.shared.adapters.s3 import S3Bodies
from lambdas.shared.ledger import Bodies
from lambdas.shared.table import Table
from tests.fakes.ledger import FakeBodies, FakeTable

TABLE, BUCKET = "ledger", "payloads"


@pytest.fixture(params=["fake", "aws"])
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "fake":
        yield "fake"
        return
    with mock_aws():
        make_table()
        aws.client("s3").create_bucket(
            Bucket=BUCKET,
            CreateBucketConfiguration={"LocationConstraint": "eu-central-1"},
        )
        yield "aws"


@pytest.fixture
def table(kind: str) -> Table:
    if kind == "fake":
        return FakeTable()
    return DynamoTable(TABLE, lambda: aws.client("dynamodb"))


@pytest.fixture
def bodies(kind: str) -> Bodies:
    if kind == "fake":
        return FakeBodies()
    return S3Bodies(BUCKET)


def make_table() -> None:
    kinds = {"pk": "S", "sk": "S", "accepted": "S", "received_at": "S"}
    kinds |= {"attention": "S", "finished_at": "N"}

    def keys(partition: str, sort: str) -> Any:
        return [
            {"AttributeName": partition, "KeyType": "HASH"},
            {"AttributeName": sort, "KeyType": "RANGE"},
        ]

    def index(name: str, partition: str, sort: str) -> Any:
        return {
            "IndexName": name,
            "KeySchema": keys(partition, sort),
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }

    aws.client("dynamodb").create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=keys("pk", "sk"),
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in kinds.items()
        ],
        GlobalSecondaryIndexes=[
            index("by-time", "accepted", "received_at"),
            index("by-state", "attention", "finished_at"),
        ],
    )
