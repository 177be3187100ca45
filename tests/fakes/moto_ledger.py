"""The ledger's table and bucket in moto, for whoever holds ``mock_aws``."""

from __future__ import annotations

from typing import Any

from lambdas.shared.adapters import aws

TABLE, BUCKET = "ledger", "payloads"


def make_bucket() -> None:
    """Make the payload bucket."""
    aws.client("s3").create_bucket(
        Bucket=BUCKET,
        CreateBucketConfiguration={"LocationConstraint": "eu-central-1"},
    )


def make_table() -> None:
    """Make the ledger's table as the stack does: keys and both indexes."""
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
