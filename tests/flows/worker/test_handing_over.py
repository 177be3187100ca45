"""A function whose time is over hands its run to the next call, through its queue."""

from __future__ import annotations

import json

from lambdas.shared.adapters import aws
from lambdas.shared.story import RunRecord, State
from tests.flows.worker.conftest import Deploy, Deployed

CODE = """
import time

def run(event, run):
    saved = run.resumed_from or []
    while len(saved) < 2 and run.keep_going():
        saved.append(run.attempt)
        run.checkpoint(saved)
        time.sleep(3.6)
    run.step("end", lambda: saved)
"""


def run_of(deployed: Deployed, event_id: str) -> RunRecord:
    story = deployed.ledger.story(event_id)
    assert story is not None
    (run,) = story.runs
    return run


def test_run_goes_on_in_the_next_call_and_its_message_is_a_new_one(
    deploy: Deploy,
) -> None:
    deployed = deploy("stroller", CODE)
    first = deployed.accept_and_send("d1")

    received, failed = deployed.poll(left_ms=6000)
    between = run_of(deployed, "github:d1")
    again, failed_again = deployed.poll(left_ms=20_000)

    assert (received, failed) == ([first], [])
    assert between.state is State.SUSPENDED
    (second,) = again
    assert second != first
    assert failed_again == []
    done = run_of(deployed, "github:d1")
    assert (done.state, done.attempt, done.carrier) == (State.SUCCEEDED, 2, second)
    assert deployed.poll() == ([], [])
    assert deployed.dead_letters == 0
    table = aws.client("dynamodb")
    key = {"pk": {"S": "github:d1"}, "sk": {"S": "checkpoint#worker"}}
    item = table.get_item(TableName=deployed.settings.ledger_table, Key=key)["Item"]
    assert json.loads(item["state"]["S"]) == [1, 2]
