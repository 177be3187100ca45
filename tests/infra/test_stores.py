"""Ledger, payloads and queues: what they keep, for how long, and under which ids."""

from __future__ import annotations

import pytest

from lambdas.shared.fleet import DLQ_RETENTION_DAYS, QUEUE_RETENTION_DAYS
from tests.infra.template import Template, referred

DAY = 86_400
LEDGER_DAYS = {"small": 45, "large": 60}


def test_ledger_keeps_its_logical_ids(template: Template) -> None:
    """A changed id would replace the resource and forget what was already done."""
    ids = {
        kind: template.only(kind).id
        for kind in ("DynamoDB::Table", "S3::Bucket", "KMS::Key")
    }

    assert ids == {
        "DynamoDB::Table": "LedgerTable9343E4AA",
        "S3::Bucket": "LedgerPayloadsC4CC5844",
        "KMS::Key": "EncryptionKey3A692D6E",
    }


def test_an_agents_queues_keep_their_logical_ids(
    templates: dict[str, Template],
) -> None:
    queues = {each.id for each in templates["small"].all("SQS::Queue")}

    assert queues == {
        "FailureQueuesAsync0DA4D9AD",
        "FailureQueuesRelayParkedD9B27DCA",
        "FailureQueuesRules625CA562",
        "FailureQueuesSchedules2D79C3A8",
        "WorkersTriageDeadLetters87AB2BE4",
        "WorkersTriageQueueBB340949",
    }


def test_ledger_expires_streams_and_can_be_restored(template: Template) -> None:
    table = template.only("DynamoDB::Table")

    assert table.of("TimeToLiveSpecification") == {
        "AttributeName": "expires_at",
        "Enabled": True,
    }
    assert table.of("StreamSpecification.StreamViewType") == "NEW_IMAGE"
    restore = table.of("PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled")
    assert restore is True
    assert table.of("BillingMode") == "PAY_PER_REQUEST"


def test_ledger_has_the_two_indexes_that_it_is_read_by(template: Template) -> None:
    table = template.only("DynamoDB::Table")
    definitions = table.of("AttributeDefinitions")
    types = {each["AttributeName"]: each["AttributeType"] for each in definitions}
    keys = {
        index["IndexName"]: [key["AttributeName"] for key in index["KeySchema"]]
        for index in table.of("GlobalSecondaryIndexes")
    }
    projections = [index["Projection"] for index in table.of("GlobalSecondaryIndexes")]

    assert keys == {
        "by-time": ["accepted", "received_at"],
        "by-state": ["attention", "finished_at"],
    }
    assert types["finished_at"] == "N"
    assert types["received_at"] == "S"
    assert projections == [{"ProjectionType": "KEYS_ONLY"}] * 2


@pytest.mark.parametrize("name", sorted(LEDGER_DAYS))
def test_payloads_outlive_row_and_dead_letter(
    templates: dict[str, Template], name: str
) -> None:
    bucket = templates[name].only("S3::Bucket")
    (rule,) = bucket.of("LifecycleConfiguration.Rules")

    assert rule["Status"] == "Enabled"
    assert "Prefix" not in rule
    assert rule["ExpirationInDays"] > LEDGER_DAYS[name] + DLQ_RETENTION_DAYS
    assert LEDGER_DAYS[name] > DLQ_RETENTION_DAYS + QUEUE_RETENTION_DAYS


def test_payloads_are_nobody_elses(template: Template) -> None:
    bucket = template.only("S3::Bucket")

    assert set(bucket.of("PublicAccessBlockConfiguration").values()) == {True}
    ownership = bucket.of("OwnershipControls.Rules")
    assert ownership == [{"ObjectOwnership": "BucketOwnerEnforced"}]


def test_failure_queues_keep_what_they_get_for_two_weeks(template: Template) -> None:
    fed = {queue.id for queue in template.worked_queues()}
    others = [e for e in template.all("SQS::Queue") if e.id not in fed]

    kept = {each.of("MessageRetentionPeriod") for each in others}
    assert kept == {DLQ_RETENTION_DAYS * DAY}


def test_no_queue_lies_under_awss_own_key(template: Template) -> None:
    """A rule's target under alias/aws/sqs synthesises, deploys and drops silently."""
    for queue in template.all("SQS::Queue"):
        assert referred(queue.of("KmsMasterKeyId"))
