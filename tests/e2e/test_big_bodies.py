"""Bodies of every size reach the agent byte by byte; a crash loses none."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from local.demo.telling import is_done, state
from local.stack import LocalStack, wait_for
from tests.e2e.captured import Heard, send

KB = 1024
# What Lambda takes is 6 MiB with everything around the body; see limits.md.
LARGEST = 6_000_000
SIZES = (KB, 30 * KB, 200 * KB, 4_500_000, LARGEST)
FURTHER_SIZES = (0, 1, 31 * KB, 32 * KB, 33 * KB, 1_000_000, 2_000_000, LARGEST - 1)
JSON, BINARY = "application/json", "application/octet-stream"


def noise(size: int, media_type: str) -> bytes:
    """Return a body of exactly ``size`` that hardly shrinks, never the same twice."""
    if media_type == BINARY:
        return os.urandom(size)
    # Odd spacing, escapes and a newline at the end: nothing may be written anew.
    head, tail = b'{ "text" : "\\u00e9\\/ ', b'"}\r\n'
    missing = max(size - len(head) - len(tail), 0)
    filler = os.urandom(missing // 2 + 1).hex().encode()
    return (head + filler[:missing] + tail)[:size]


def signed(
    stack: LocalStack, body: bytes, *, kind: str, delivery: str
) -> dict[str, str]:
    proof = hmac.new(stack.secret("dock").encode(), body, hashlib.sha256).hexdigest()
    return {"X-Signature": proof, "X-Delivery": delivery, "X-Kind": kind}


def deliver(
    stack: LocalStack,
    body: bytes,
    *,
    media_type: str = BINARY,
    kind: str = "crate",
    delivery: str = "",
) -> Heard:
    delivery = delivery or uuid.uuid4().hex
    headers = signed(stack, body, kind=kind, delivery=delivery)
    return send(
        stack,
        "dock",
        method="POST",
        query="",
        headers={**headers, "Content-Type": media_type},
        content=body,
    )


def weights(stack: LocalStack, event_id: str) -> list[tuple[int, str, int]]:
    """Return what the agent found in the body, and how often it said so."""
    effects = [
        e for e in stack.effects("scale.example") if e["body"]["event"] == event_id
    ]
    return [(e["body"]["bytes"], e["body"]["sha256"], e["count"]) for e in effects]


def objects(stack: LocalStack) -> set[str]:
    """Return the keys of all bodies that are kept apart."""
    pages = (
        stack.client("s3")
        .get_paginator("list_objects_v2")
        .paginate(Bucket=stack.payload_bucket, Prefix="events/")
    )
    return {each["Key"] for page in pages for each in page.get("Contents", [])}


def claims(stack: LocalStack) -> Iterator[str]:
    """Yield the key of every body that an event's row says is kept apart."""
    pages = (
        stack.client("dynamodb")
        .get_paginator("scan")
        .paginate(
            TableName=stack.ledger_table,
            FilterExpression="attribute_exists(body_ref)",
            ConsistentRead=True,
        )
    )
    for page in pages:
        for row in page["Items"]:
            yield row["body_ref"]["S"]


def test_body_of_any_size_reaches_the_agent_as_it_was_sent(
    whole_door: LocalStack, full_size: bool
) -> None:
    sizes = sorted({*SIZES, *(FURTHER_SIZES if full_size else ())})
    sent: dict[str, bytes] = {}
    lines = []

    for size in sizes:
        for media_type in (JSON, BINARY):
            body = noise(size, media_type)
            heard = deliver(whole_door, body, media_type=media_type)
            assert heard.status == 200, (size, media_type, heard)
            (event_id,) = heard.event_ids
            sent[event_id] = body
            row = whole_door.rows(event_id)["event"]
            kept = "S3" if "body_ref" in row else "row"
            lines.append(f"{size:>9,} bytes  {media_type:<25} kept in {kept}")

    print("", *lines, sep="\n")
    for event_id, body in sent.items():
        assert wait_for(lambda: is_done(whole_door, event_id, "weigher"))  # noqa: B023
        digest = hashlib.sha256(body).hexdigest()
        assert weights(whole_door, event_id) == [(len(body), digest, 1)]
    assert set(claims(whole_door)) <= objects(whole_door)


def test_large_body_is_kept_once_and_never_replaced(whole_door: LocalStack) -> None:
    first, second = noise(KB * 100, BINARY), noise(KB * 100, BINARY)
    delivery = uuid.uuid4().hex
    before = objects(whole_door)

    answers = [
        json.loads(deliver(whole_door, body, delivery=delivery).body)
        for body in (first, first, second)
    ]

    assert [answer["deduplicated"] for answer in answers] == [False, True, True]
    event_id = answers[0]["event_id"]
    assert wait_for(lambda: is_done(whole_door, event_id, "weigher"))
    digest = hashlib.sha256(first).hexdigest()
    assert weights(whole_door, event_id) == [(len(first), digest, 1)]
    ref = whole_door.rows(event_id)["event"]["body_ref"]
    assert ref.endswith(digest)
    # The other body lies beside it until the lifecycle removes it; nobody names it.
    assert ref in objects(whole_door) - before
    assert len(objects(whole_door) - before) == 2


@pytest.mark.parametrize(
    ("point", "object_there", "accepted"),
    [
        ("before:s3.PutObject:1", False, False),
        ("after:s3.PutObject:1", True, False),
        ("before:dynamodb.PutItem:1", True, False),
        ("after:dynamodb.PutItem:1", True, True),
    ],
)
def test_receiver_killed_at_a_large_body_loses_and_dangles_nothing(
    whole_door: LocalStack, point: str, object_there: bool, accepted: bool
) -> None:
    """The sender hears a 5xx and repeats; what is there by then is never half there."""
    body, delivery = noise(KB * 100, BINARY), uuid.uuid4().hex
    event_id, digest = f"dock:{delivery}", hashlib.sha256(body).hexdigest()

    whole_door.arm(f"{point}@{whole_door.functions['receiver']}")
    killed = deliver(whole_door, body, delivery=delivery)

    assert whole_door.fired() is not None, f"{point} was not reached"
    assert killed.status >= 500
    assert any(key.endswith(digest) for key in objects(whole_door)) is object_there
    assert bool(whole_door.rows(event_id)) is accepted
    assert set(claims(whole_door)) <= objects(whole_door)

    repeated = deliver(whole_door, body, delivery=delivery)

    told = {"event_id": event_id, "deduplicated": accepted}
    assert json.loads(repeated.body) == told
    assert wait_for(lambda: is_done(whole_door, event_id, "weigher"))
    assert weights(whole_door, event_id) == [(len(body), digest, 1)]
    assert set(claims(whole_door)) <= objects(whole_door)


def test_body_whose_object_is_gone_is_a_dead_letter_that_says_so(
    whole_door: LocalStack,
) -> None:
    (event_id,) = deliver(
        whole_door, noise(KB * 100, BINARY), kind="nobody-hears"
    ).event_ids
    row = whole_door.rows(event_id)["event"]
    whole_door.client("s3").delete_object(
        Bucket=whole_door.payload_bucket, Key=row["body_ref"]
    )
    queue = whole_door.queues["weigher"]
    dead_before = whole_door.dead_letters("weigher")

    whole_door.client("sqs").send_message(
        QueueUrl=queue.url, MessageBody=json.dumps(envelope(event_id, row))
    )

    assert wait_for(lambda: state(whole_door, event_id, "weigher") == "DEAD")
    reason = whole_door.rows(event_id)["run#weigher"]["reason"]
    assert reason["type"] == "BodyGone"
    assert "the body of this event is gone" in reason["message"]
    assert wait_for(lambda: whole_door.dead_letters("weigher") == dead_before + 1)
    assert weights(whole_door, event_id) == []


def envelope(event_id: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return what the relay's entry would be on the queue."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "source": "bellhop.dock",
        "detail-type": row["kind"],
        "time": row["received_at"],
        "detail": {
            "event_id": event_id,
            "received_at": row["received_at"],
            "expires_at": int(row["expires_at"]),
        },
    }


@pytest.mark.parametrize(
    ("source", "size"), [("dock", LARGEST + 1), ("slot", 4_500_001)]
)
@pytest.mark.parametrize(
    ("forged", "answer"),
    [(False, (413, "body_too_large")), (True, (401, "bad_signature"))],
    ids=["true", "forged"],
)
def test_body_over_the_sources_limit_is_refused_by_us_once_it_is_proved(
    whole_door: LocalStack,
    source: str,
    size: int,
    forged: bool,
    answer: tuple[int, str],
) -> None:
    delivery, body = uuid.uuid4().hex, noise(size, BINARY)
    headers = {
        **signed(whole_door, body, kind="crate", delivery=delivery),
        "Authorization": f"Bearer {whole_door.secret('slot')}",
    }
    if forged:
        headers |= {"X-Signature": "0", "Authorization": "Bearer no"}

    heard = send(
        whole_door, source, method="POST", query="", headers=headers, content=body
    )

    assert (heard.status, json.loads(heard.body)["error"]) == answer
    assert whole_door.rows(f"{source}:{delivery}") == {}


@pytest.mark.parametrize("claimed", [5_000_000, 100], ids=["longer", "shorter"])
def test_body_of_another_length_than_claimed_is_not_accepted(
    whole_door: LocalStack, claimed: int
) -> None:
    body, delivery = noise(KB, JSON), uuid.uuid4().hex

    status = lie(whole_door, body, claimed=claimed, delivery=delivery)

    assert status is None or status >= 400
    assert whole_door.rows(f"dock:{delivery}") == {}
    honest = deliver(whole_door, body, media_type=JSON, delivery=delivery)
    assert json.loads(honest.body)["deduplicated"] is False


def lie(stack: LocalStack, body: bytes, *, claimed: int, delivery: str) -> int | None:
    """Send a body under a false Content-Length; return the answer's status, if any."""
    url = urlsplit(stack.webhook_url("dock"))
    headers = {
        "Host": url.netloc,
        "Content-Length": str(claimed),
        "Content-Type": JSON,
        "Connection": "close",
        **signed(stack, body, kind="crate", delivery=delivery),
    }
    lines = [f"POST {url.path} HTTP/1.1", *(f"{n}: {v}" for n, v in headers.items())]
    with socket.create_connection((url.hostname, url.port), timeout=30) as wire:
        wire.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        wire.shutdown(socket.SHUT_WR)
        answer = wire.recv(4096)
    return int(answer.split(b" ", 2)[1]) if answer else None
