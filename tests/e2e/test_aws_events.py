"""What AWS reports on its buses becomes an agent's work, as the how-to page says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from local.demo.telling import is_done
from local.stack import LocalStack, wait_for

SAMPLES = Path(__file__).with_name("aws")
AGENT = "incident-responder"
PARTNER = "aws.partner/example.com/acme/monitoring"


def sample(name: str, **changes: Any) -> dict[str, Any]:
    """Return what AWS would report; the bus adds id, time, account and region."""
    return {**json.loads((SAMPLES / f"{name}.json").read_text()), **changes}


def posted(stack: LocalStack, event_id: str) -> list[tuple[str, int]]:
    """Return what was posted to Slack for an event, and how often."""
    operation = stack.rows(event_id)[f"effect#{AGENT}#post"]["operation_id"]
    effects = [
        e for e in stack.effects("/slack.com/") if e["operation_id"] == operation
    ]
    return [(effect["body"]["text"], effect["count"]) for effect in effects]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "alarm",
            "[urgent] CloudWatch Alarm State Change: OrdersTooFew: Threshold Crossed:",
        ),
        (
            "pipeline",
            "[urgent] CodePipeline Pipeline Execution State Change: shop: FAILED",
        ),
        (
            "object",
            "[soon] Object Created: inbox/&lt;!channel&gt; &amp; co.pdf: PutObject",
        ),
        ("task", "[urgent] ECS Task State Change: service:checkout: OutOfMemoryError:"),
        (
            "finding",
            "[urgent] GuardDuty Finding: UnauthorizedAccess:EC2/SSHBruteForce: 198.51.",
        ),
        ("health", "[soon] AWS Health Event: AWS_SQS_OPERATIONAL_ISSUE: We are inv"),
    ],
)
def test_report_is_told_to_slack_once(
    whole_door: LocalStack, name: str, text: str
) -> None:
    event_id = whole_door.report(sample(name))

    assert wait_for(lambda: is_done(whole_door, event_id, AGENT))
    ((told, times),) = posted(whole_door, event_id)
    assert told.startswith(text)
    assert times == 1
    row = whole_door.rows(event_id)["event"]
    assert (row["via"], row["source"]) == ("queue", "aws")
    assert row["kind"] == sample(name)["detail-type"]


def test_report_without_detail_is_told_by_its_kind(whole_door: LocalStack) -> None:
    event_id = whole_door.report(sample("health", detail={}))

    assert wait_for(lambda: is_done(whole_door, event_id, AGENT))
    ((told, _),) = posted(whole_door, event_id)
    assert told.startswith("[soon] AWS Health Event (")


def test_report_too_large_for_a_row_is_kept_apart(whole_door: LocalStack) -> None:
    """A queue takes 1 MiB, a row 400 KB; the worker itself puts the body into S3."""
    detail = {**sample("finding")["detail"], "samples": os.urandom(100_000).hex()}

    event_id = whole_door.report(sample("finding", detail=detail))

    assert wait_for(lambda: is_done(whole_door, event_id, AGENT))
    assert "body_ref" in whole_door.rows(event_id)["event"]
    ((told, times),) = posted(whole_door, event_id)
    assert told.startswith("[urgent] GuardDuty Finding: UnauthorizedAccess")
    assert times == 1


def test_report_that_is_delivered_twice_is_one_event(whole_door: LocalStack) -> None:
    """EventBridge delivers at least once: the same envelope under another message."""
    event_id = whole_door.report(sample("pipeline"))
    assert wait_for(lambda: is_done(whole_door, event_id, AGENT))
    queue = whole_door.queues[AGENT].url
    envelope = {
        "version": "0",
        "id": event_id.rpartition(":")[2],
        "time": "2026-11-29T12:00:00Z",
        "account": "000000000000",
        "region": whole_door.region,
        **sample("pipeline"),
    }
    sqs = whole_door.client("sqs")

    for _ in range(3):
        sqs.send_message(QueueUrl=queue, MessageBody=json.dumps(envelope))

    assert wait_for(lambda: whole_door.waiting(queue) == 0)
    assert [times for _, times in posted(whole_door, event_id)] == [1]
    assert whole_door.rows(event_id)[f"run#{AGENT}"]["attempt"] == 1


@pytest.mark.parametrize(
    "event",
    [
        sample("alarm", detail={"state": {"value": "OK"}}),
        sample("pipeline", detail={"state": "SUCCEEDED"}),
        sample("object", detail={"bucket": {"name": "another"}}),
        sample("finding", detail={"severity": 2}),
    ],
    ids=lambda event: event["source"],
)
def test_report_that_is_no_incident_wakes_nobody(
    whole_door: LocalStack, event: dict[str, Any]
) -> None:
    quiet = whole_door.report(event)
    heard = whole_door.report(sample("health"))

    assert wait_for(lambda: is_done(whole_door, heard, AGENT))
    assert whole_door.rows(quiet) == {}


def test_object_that_was_put_is_reported_by_its_bucket(whole_door: LocalStack) -> None:
    """S3 itself speaks here, once it is told to: the envelope is nobody's invention."""
    s3 = whole_door.client("s3")
    s3.create_bucket(Bucket="acme-quarantine")
    s3.put_bucket_notification_configuration(
        Bucket="acme-quarantine",
        NotificationConfiguration={"EventBridgeConfiguration": {}},
    )
    path = "/slack.com/api/chat.postMessage"

    s3.put_object(Bucket="acme-quarantine", Key="late.pdf", Body=b"%PDF")

    line = "[soon] Object Created: late.pdf: PutObject"
    assert wait_for(
        lambda: (
            [
                effect["count"]
                for effect in whole_door.effects(path)
                if effect["body"]["text"].startswith(line)
            ]
            == [1]
        )
    )


def test_partners_report_is_heard_on_its_own_bus(whole_door: LocalStack) -> None:
    event = {
        "source": PARTNER,
        "detail-type": "Monitor Triggered",
        "resources": [],
        "detail": {"monitor": "checkout"},
    }

    elsewhere = whole_door.report(event)
    event_id = whole_door.report(event, bus=PARTNER)

    assert wait_for(lambda: is_done(whole_door, event_id, "watcher"))
    assert whole_door.rows(elsewhere) == {}
