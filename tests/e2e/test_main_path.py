"""A signed event becomes an agent's work, once, on the synthesized stack."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from cli.signers import Delivery
from cli.wire import Wire as Senders
from local.demo import post
from local.demo.telling import is_done
from local.stack import LocalStack, wait_for
from tests.e2e.bursts import burst, most_in_flight, warm_up

COPIES = 50


def accepted(stack: LocalStack, source: str, delivery: Delivery) -> str:
    answer = post.send(stack, source, delivery)
    assert (answer.status, answer.is_deduplicated) == (200, False)
    return str(answer.event_id)


def writes(stack: LocalStack, since: int) -> Counter[str]:
    """What the receiver asked of DynamoDB and S3, as the engine saw it arrive."""
    calls = stack.wire.counts(since, stack.functions["receiver"])
    return Counter(
        {k: n for k, n in calls.items() if k.startswith(("dynamodb.", "s3."))}
    )


def effects_of(stack: LocalStack, event_id: str) -> list[int]:
    """How often the counter called an event out, one number per effect."""
    calls = stack.effects("counter.example")
    return [call["count"] for call in calls if call["body"]["event"] == event_id]


def test_signed_issue_gets_its_comment(stack: LocalStack) -> None:
    event_id = accepted(stack, "github", post.signed(stack, "github", "issues.opened"))

    assert wait_for(lambda: is_done(stack, event_id, "issue-triage"))
    rows = stack.rows(event_id)
    operation = rows["effect#issue-triage#comment"]["operation_id"]
    effects = [e for e in stack.effects() if e["operation_id"] == operation]
    assert [effect["count"] for effect in effects] == [1]
    assert effects[0]["path"].startswith("/api.github.com/repos/")


def test_acceptance_costs_one_write_a_duplicate_one_a_forgery_none(
    stack: LocalStack,
) -> None:
    post.send(stack, "github", post.signed(stack, "github", "ping"))  # warms the secret
    delivery = post.signed(stack, "github", "issues.opened")
    forged = post.signed(stack, "github", "issues.opened", tampered=True)
    counted = []

    for sent in (delivery, delivery, forged):
        since = stack.wire.mark()
        post.send(stack, "github", sent)
        counted.append(writes(stack, since))

    print("DynamoDB and S3 calls: new, duplicate, forged:", *map(dict, counted))
    assert counted == [{"dynamodb.PutItem": 1}, {"dynamodb.PutItem": 1}, {}]


def test_copies_at_one_barrier_are_one_record_and_one_effect(
    stack: LocalStack, full_size: bool
) -> None:
    senders = Senders(stack.webhook_url("slack"))
    warm_up(senders, lambda: post.signed(stack, "slack", "message"), COPIES)

    for _ in range(20 if full_size else 5):
        delivery = post.signed(stack, "slack", "app_mention")

        sent = burst(senders, delivery, COPIES)

        statuses = Counter(each.answer.status for each in sent)
        ids = {each.answer.event_id for each in sent}
        new = [each for each in sent if each.answer.is_deduplicated is False]
        event_id = str(new[0].answer.event_id)
        print(f"{dict(statuses)}, {most_in_flight(sent)} of {COPIES} in flight at once")
        assert statuses == {200: COPIES}
        assert (len(new), ids) == (1, {event_id})
        assert wait_for(lambda: is_done(stack, event_id, "counter"))  # noqa: B023
        assert effects_of(stack, event_id) == [1]


@pytest.mark.parametrize(
    ("source", "event", "late", "tampered", "status", "error"),
    [
        ("github", "issues.opened", 0, True, 401, "bad_signature"),
        ("slack", "app_mention", 600, False, 401, "stale"),
        ("stripe", "charge.failed", 600, False, 401, "stale"),
        ("roastery", "order.placed", 600, False, 401, "stale"),
    ],
)
def test_what_is_forged_or_stale_leaves_no_trace(
    stack: LocalStack,
    source: str,
    event: str,
    late: int,
    tampered: bool,
    status: int,
    error: str,
) -> None:
    delivery = post.signed(
        stack, source, event, tampered=tampered, late=timedelta(seconds=late)
    )
    since = stack.wire.mark()

    answer = post.send(stack, source, delivery)

    assert (answer.status, answer.error) == (status, error)
    assert writes(stack, since) == {}
