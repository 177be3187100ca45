"""The worker's handler between a queue with dead letters and the ledger, on moto."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lambdas.shared.adapters import aws, dynamodb
from lambdas.shared.story import State
from tests.fakes.moto_ledger import BUCKET

if TYPE_CHECKING:
    from tests.flows.worker.conftest import Deploy, Deployed

MIXED = """
    import sys
    from agents import GiveUp, RetryLater

    def run(event, run):
        match event.payload["do"]:
            case "give up": raise GiveUp("no")
            case "retry": raise RetryLater("busy")
            case "exit": sys.exit(1)
            case "recurse": run_for_ever()
            case "twice": run.step("a", dict); run.step("a", dict)
            case "no json": run.effect("a", lambda operation_id: {1})
            case "well": run.step("done", lambda: "well")

    def run_for_ever():
        run_for_ever()
"""


def test_neighbours_of_bad_messages_are_unharmed(deploy: Deploy) -> None:
    """Ten in one batch; each gets its own verdict, and a reason where it failed."""
    worker = deploy("mixed", MIXED)
    bad = ["give up", "retry", "exit", "recurse", "twice", "no json"]
    failing = {worker.accept_and_send(do, {"do": do}) for do in bad}
    failing.add(worker.send("not JSON"))
    done = {worker.accept_and_send(f"well-{n}", {"do": "well"}) for n in range(3)}

    received, failed = worker.poll()

    assert set(received) == failing | done
    assert set(failed) == failing
    states = {}
    for name in [*bad, "well-0", "well-1", "well-2"]:
        story = worker.ledger.story(f"github:{name}")
        assert story is not None
        (run,) = story.runs
        states[name] = run.state
        assert (run.reason is None) == (run.state is State.SUCCEEDED)
    assert states == {
        "give up": State.DEAD,
        "retry": State.FAILED,
        "exit": State.FAILED,
        "recurse": State.FAILED,
        "twice": State.DEAD,
        "no json": State.DEAD,
        "well-0": State.SUCCEEDED,
        "well-1": State.SUCCEEDED,
        "well-2": State.SUCCEEDED,
    }


def test_records_of_a_batch_run_side_by_side(deploy: Deploy) -> None:
    """Each waits for all ten; one after another, none would ever begin."""
    code = """
        import threading

        together = threading.Barrier(10, timeout=10)

        def run(event, run):
            together.wait()
    """
    worker = deploy("waits", code)
    sent = {worker.accept_and_send(f"{n}") for n in range(10)}

    received, failed = worker.poll()

    assert set(received) == sent
    assert failed == []


def test_batch_that_fails_as_a_whole_is_answered_not_raised(deploy: Deploy) -> None:
    worker = deploy("mixed", MIXED)
    sent = {worker.accept_and_send(f"{n}", {"do": "retry"}) for n in range(3)}

    received, failed = worker.poll()

    assert set(received) == set(failed) == sent


def test_given_up_message_is_moved_to_the_dead_letters_by_sqs_itself(
    deploy: Deploy,
) -> None:
    """Three receives (all bounced at once), and the fourth look moves it."""
    worker = deploy("mixed", MIXED)
    sent = worker.accept_and_send("1", {"do": "give up"})

    polls = [worker.poll() for _ in range(4)]

    assert polls == [([sent], [sent])] * 3 + [([], [])]
    assert worker.dead_letters == 1
    story = worker.ledger.story("github:1")
    assert story is not None
    assert [(run.state, run.attempt) for run in story.runs] == [(State.DEAD, 1)]


def test_message_that_carries_no_event_ends_in_the_dead_letters(
    deploy: Deploy,
) -> None:
    worker = deploy("mixed", MIXED)
    worker.send('{"hello": 1}')

    received, failed = worker.poll()

    assert received == failed != []


def test_acknowledged_message_is_not_seen_again(deploy: Deploy) -> None:
    worker = deploy("mixed", MIXED)
    worker.accept_and_send("1", {"do": "well"})

    assert worker.poll()[1] == []
    assert worker.poll() == ([], [])
    assert worker.dead_letters == 0


def test_large_body_reaches_its_agent(deploy: Deploy) -> None:
    code = """
        def run(event, run):
            run.step("size", lambda: len(event.payload["noise"]))
    """
    worker = deploy("measures", code)
    noise = "".join(f"{n * 2654435761 % 2**32:08x}" for n in range(20_000))
    worker.accept_and_send("1", {"noise": noise})

    assert worker.poll()[1] == []

    row = row_of(worker, "step#worker#size")
    assert row["result"] == str(len(noise))
    assert "body_ref" in row_of(worker, "event")


def test_body_that_is_gone_is_a_dead_letter_that_says_so(deploy: Deploy) -> None:
    code = """
        def run(event, run):
            event.payload
    """
    worker = deploy("reads", code)
    noise = "".join(f"{n * 2654435761 % 2**32:08x}" for n in range(20_000))
    worker.accept_and_send("1", {"noise": noise})
    key = row_of(worker, "event")["body_ref"]
    aws.client("s3").delete_object(Bucket=BUCKET, Key=key)

    worker.poll()

    story = worker.ledger.story("github:1")
    assert story is not None
    (run,) = story.runs
    assert run.state is State.DEAD
    assert run.reason is not None
    assert run.reason.message == "the body of this event is gone"


def row_of(worker: Deployed, sk: str) -> Any:
    row = dynamodb.table(worker.settings).get("github:1", sk)
    assert row is not None
    return row
