"""A body kept apart: read when the agent looks, and what happens when that fails."""

from __future__ import annotations

import os

import pytest
from botocore.exceptions import ConnectTimeoutError

from lambdas.shared.adapters import aws
from tests.fakes.moto_ledger import BUCKET
from tests.flows.worker.conftest import Deploy, Deployed

READS = """
    def run(event, run):
        run.step("weigh", lambda: len(event.payload["noise"]))
"""
LOOKS_AWAY = """
    def run(event, run):
        run.step("kind", lambda: event.kind)
"""
LARGE = {"noise": os.urandom(200_000).hex()}


def run_of(worker: Deployed, delivery_id: str) -> tuple[str, str | None]:
    story = worker.ledger.story(f"github:{delivery_id}")
    assert story is not None
    (run,) = story.runs
    return run.state, run.reason.type if run.reason else None


def lose_all_bodies() -> None:
    s3 = aws.client("s3")
    for each in s3.list_objects_v2(Bucket=BUCKET)["Contents"]:
        s3.delete_object(Bucket=BUCKET, Key=each["Key"])


def test_body_is_read_from_s3_when_the_agent_looks(deploy: Deploy) -> None:
    worker = deploy("reads", READS)
    worker.accept_and_send("1", LARGE)

    assert worker.poll()[1] == []

    assert run_of(worker, "1") == ("SUCCEEDED", None)


def test_agent_that_never_looks_needs_no_s3(deploy: Deploy) -> None:
    worker = deploy("looks_away", LOOKS_AWAY)
    worker.accept_and_send("1", LARGE)
    lose_all_bodies()

    assert worker.poll()[1] == []

    assert run_of(worker, "1") == ("SUCCEEDED", None)


def test_body_that_s3_does_not_hand_over_is_asked_for_again(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreached(**_: object) -> None:
        raise ConnectTimeoutError(endpoint_url="https://s3.example")

    worker = deploy("reads", READS)
    message = worker.accept_and_send("1", LARGE)
    with monkeypatch.context() as broken:
        broken.setattr(aws.client("s3"), "get_object", unreached)

        assert worker.poll()[1] == [message]

    assert run_of(worker, "1") == ("FAILED", "Unavailable")
    assert worker.dead_letters == 0


def test_body_that_is_gone_is_a_dead_letter_that_says_so(deploy: Deploy) -> None:
    worker = deploy("reads", READS)
    message = worker.accept_and_send("1", LARGE)
    lose_all_bodies()

    assert worker.poll()[1] == [message]

    assert run_of(worker, "1") == ("DEAD", "BodyGone")
