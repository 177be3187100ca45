"""What comes in as a message, and what is told of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from agents import GiveUp, RetryLater
from lambdas.shared.errors import Unavailable
from lambdas.shared.event import Event
from lambdas.shared.observe import logger
from lambdas.shared.story import State
from lambdas.worker.claim import Verdict
from lambdas.worker.delivery import Message, NotOurs
from lambdas.worker.worker import Worker
from tests.fakes.worker import ISSUE, Invocation, Rig, envelope, record
from tests.unit.worker.agents import nothing, raising


def test_message_of_the_relay_runs_its_event() -> None:
    seen = []
    rig = Rig(lambda event, _: seen.append((event.id, event.payload["issue"])))

    assert rig.take(record(envelope())) is Verdict.SUCCEEDED

    assert seen == [(ISSUE.id, {"number": 7})]
    assert rig.run.generation == 0


def test_generation_travels_in_the_message() -> None:
    rig = Rig(nothing)

    rig.take(record(envelope(generation=3)))

    assert rig.run.generation == 3


AWS_EVENT = {
    "version": "0",
    "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
    "detail-type": "CodePipeline Pipeline Execution State Change",
    "source": "aws.codepipeline",
    "account": "123456789012",
    "time": "2026-11-29T11:59:58Z",
    "region": "eu-central-1",
    "resources": ["arn:aws:codepipeline:eu-central-1:123456789012:app"],
    "detail": {"pipeline": "app", "state": "FAILED"},
}


def test_event_that_aws_told_is_written_down_before_it_runs() -> None:
    seen: list[Event] = []
    rig = Rig(lambda event, _: seen.append(event))

    assert rig.take(record(AWS_EVENT)) is Verdict.SUCCEEDED

    (event,) = seen
    assert event.id == "aws:aws.codepipeline:6a7e8feb-b491-4cf7-a9f1-bf3703467718"
    assert event.payload == AWS_EVENT
    assert (event.source, event.tenant) == ("aws", "123456789012")
    story = rig.ledger.story(event.id)
    assert story is not None
    assert story.via == "queue"
    assert [run.state for run in story.runs] == [State.SUCCEEDED]


def test_event_that_aws_told_twice_runs_once_and_lives_no_longer() -> None:
    ran: list[str] = []
    rig = Rig(lambda event, _: ran.append(event.id))
    rig.take(record(AWS_EVENT))
    rig.clock.advance(86_400)

    assert rig.take(record(AWS_EVENT, message_id="m2")) is Verdict.ACKNOWLEDGED

    assert len(ran) == 1
    expiries = {
        row["expires_at"] for key, row in rig.table.rows.items() if key[0] == ran[0]
    }
    assert expiries == {rig.ledger.expires_at(ISSUE)}


def test_event_that_aws_told_is_not_run_if_it_cannot_be_written_down() -> None:
    ran: list[str] = []
    rig = Rig(lambda event, _: ran.append(event.id))
    rig.table.failures.append(Unavailable("throttled"))

    with pytest.raises(Unavailable):
        rig.take(record(AWS_EVENT))

    assert ran == []


@pytest.mark.parametrize(
    "envelope",
    [
        {**AWS_EVENT, "detail": {}},
        {**AWS_EVENT, "detail": None},
        {key: value for key, value in AWS_EVENT.items() if key != "detail"},
    ],
    ids=["empty", "null", "absent"],
)
def test_event_that_aws_told_without_detail_is_an_event(envelope: Any) -> None:
    seen: list[Event] = []
    rig = Rig(lambda event, _: seen.append(event))

    assert rig.take(record(envelope)) is Verdict.SUCCEEDED

    assert [event.payload for event in seen] == [envelope]


def test_message_of_the_relay_without_detail_carries_nothing() -> None:
    message = {k: v for k, v in envelope().items() if k != "detail"}

    with pytest.raises(NotOurs):
        Message.from_record(record(message)).delivery("triage")


def without(name: str) -> dict[str, Any]:
    whole = envelope()
    del whole["detail"][name]
    return whole


@pytest.mark.parametrize(
    "body",
    [
        "",
        "not JSON",
        "[]",
        "7",
        "{}",
        "[" * 100_000,
        '{"source":"aws.s3","detail-type":"x","detail":{}}',
        '{"source":"bellhop.x","detail-type":"x","detail":"text"}',
        '{"source":7,"detail-type":"x","detail":{},"id":"1","time":"2026-01-01"}',
        '{"source":"aws.s3","detail-type":"x","detail":{},"id":"1","time":"soon"}',
        without("event_id"),
        without("expires_at"),
        envelope(event_id=7),
        envelope(event_id=""),
        envelope(expires_at="soon"),
        envelope(received_at=7),
        envelope(generation="x"),
    ],
    ids=lambda body: str(body)[:40],
)
def test_message_that_carries_no_event_is_told_from_all_others(body: Any) -> None:
    rig = Rig(nothing)

    with pytest.raises(NotOurs):
        rig.runner.take(Message.from_record(record(body)), rig.time)

    assert rig.story.runs == ()


def metrics(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str | None]]:
    found = []
    for line in capsys.readouterr().out.splitlines():
        entry = json.loads(line)
        for told in entry.get("_aws", {}).get("CloudWatchMetrics", []):
            for names in told["Dimensions"]:
                agent = entry["Agent"] if "Agent" in names else None
                found.append((told["Metrics"][0]["Name"], agent))
    return found


@pytest.mark.parametrize(
    ("agent", "names"),
    [
        (nothing, ["RunsStarted", "RunsSucceeded", "AcceptedToDoneSeconds"]),
        (raising(ValueError()), ["RunsStarted", "RunsFailed"]),
        (raising(GiveUp("no")), ["RunsStarted", "RunsDead"]),
    ],
    ids=["succeeded", "failed", "dead"],
)
def test_metrics_go_out_for_the_fleet_and_for_the_agent(
    agent: Callable[[Event, Any], None],
    names: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    rig = Rig(agent)

    rig.deliver()

    found = metrics(capsys)
    assert found == [(name, who) for name in names for who in ("triage", None)]


@pytest.mark.parametrize("error", [ValueError, GiveUp, RetryLater])
def test_log_quotes_neither_payload_nor_error(
    error: type[Exception],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    canary = "canary-8d1f"
    rig = Rig(raising(error(canary)))

    rig.deliver()

    lines = [logger.registered_formatter.format(each) for each in caplog.records]
    assert any(f'"type":"{error.__name__}"' in line for line in lines)
    assert canary not in "".join(lines) + capsys.readouterr().out
    assert rig.run.reason is not None
    assert canary in rig.run.reason.message


def test_secret_at_the_end_of_what_is_kept_is_blackened_whole() -> None:
    token = "ghp_" + "a1B2" * 9
    rig = Rig(raising(ValueError(f"{'word ' * 199}{token}")))

    rig.deliver()

    assert rig.run.reason is not None
    assert "ghp_" not in rig.run.reason.message


def test_fault_of_ours_is_told_by_its_place_and_not_by_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What it came upon may be an agent's error, which quotes what it was given."""
    canary = "canary-8d1f"

    class Broken:
        def take(self, *_: Any) -> Any:
            try:
                raising(ValueError(canary))(ISSUE, None)
            except ValueError as error:
                raise TypeError(f"on the way: {error}") from error

    agent = SimpleNamespace(name="triage")
    worker = Worker(agent, Broken())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        worker.take(SQSRecord(record(envelope())), Invocation())

    lines = [logger.registered_formatter.format(each) for each in caplog.records]
    assert canary not in "".join(lines)
    (line,) = [line for line in lines if "worker failed" in line]
    assert "TypeError" in line
    assert "test_messages.py" in line
