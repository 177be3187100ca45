"""Every dead letter is read, whatever it is, and those without a reason get one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lambdas.dlq_digest.letters import Raw
from lambdas.shared.blame import Blame
from lambdas.shared.errors import Misconfigured, Unavailable
from tests.unit.dlq_digest.conftest import Desk

ATTEMPT: dict[str, Any] = {"invocation": {"id": "r-1", "log_group": "/log"}}


def raw(number: int, body: str, **attributes: str) -> Raw:
    return Raw(
        id=f"m{number}",
        body=body,
        sent_ms=0,
        receipt=f"r{number}",
        attributes=attributes,
    )


def test_what_the_ledger_knows_is_not_received(desk: Desk) -> None:
    desk.dead()
    desk.dead()

    report = desk.reader.report()

    assert [group.count for group in report.groups] == [2]
    assert desk.boxes["triage"].receives == 0


@pytest.mark.parametrize(
    ("lines", "blame", "words"),
    [
        (
            ["REPORT RequestId: r-1\tDuration: 60000.00 ms\tStatus: timeout"],
            Blame.TIMEOUT,
            "attempt 3 did not end: Lambda stopped it at its time limit (60 s)",
        ),
        (
            ["2026-11-29T12:00:00.000Z r-1 Task timed out after 60.00 seconds"],
            Blame.TIMEOUT,
            "time limit (60 s)",
        ),
        (
            [
                "RequestId: r-1 Error: Runtime exited with error: signal: killed",
                "REPORT RequestId: r-1\tDuration: 900.00 ms\tBilled Duration: 900 ms"
                "\tMemory Size: 512 MB\tMax Memory Used: 512 MB",
            ],
            Blame.OUT_OF_MEMORY,
            "out of memory (512 MB)",
        ),
        (
            ["REPORT RequestId: r-1 Error Type: Runtime.OutOfMemory"],
            Blame.OUT_OF_MEMORY,
            "out of memory",
        ),
        (
            [
                "RequestId: r-1 Error: Runtime exited with error: exit status 1",
                "REPORT RequestId: r-1\tDuration: 900.00 ms\tBilled Duration: 900 ms"
                "\tMemory Size: 512 MB\tMax Memory Used: 90 MB",
            ],
            Blame.AGENT_BUG,
            "killed (after 0.9 s; 90 of 512 MB used; Runtime exited with error: exit"
            " status 1)",
        ),
        ([], Blame.AGENT_BUG, "attempt 3 ended without a word"),
    ],
    ids=["status", "old line", "full", "out of memory", "exit", "no log"],
)
def test_run_that_died_without_a_word_gets_its_reason_from_lambdas_log(
    desk: Desk, lines: list[str], blame: Blame, words: str
) -> None:
    desk.logs.said["r-1"] = lines
    event_id = desk.run(desk.letter(), **ATTEMPT)

    (group,) = desk.reader.report().groups

    row = desk.ledger.table.rows[event_id, "run#triage"]
    assert (group.blame, row["state"], row["attention"]) == (blame, "DEAD", "DEAD")
    assert words in row["reason"]["message"]
    assert "due_at" not in row
    again = desk.reader.report()
    assert [g.count for g in again.groups] == [1]


def test_log_that_cannot_be_read_leaves_a_reason_all_the_same(desk: Desk) -> None:
    desk.logs.failures = [Misconfigured("AccessDenied")]
    desk.run(desk.letter(), **ATTEMPT)

    (group,) = desk.reader.report().groups

    assert "ended without a word" in group.message


def test_effect_that_was_under_way_is_named(desk: Desk) -> None:
    event_id = desk.run(desk.letter())
    desk.ledger.table.put(
        {"pk": event_id, "sk": "effect#triage#charge", "status": "STARTED"}
    )

    (group,) = desk.reader.report().groups

    assert group.message.endswith("effect 'charge' is in doubt")


def test_last_error_stands_when_later_receives_could_not_begin(desk: Desk) -> None:
    reason = {"category": "error", "type": "KeyError", "message": "'id'"}
    desk.run(desk.letter(), state="FAILED", reason={**reason, "fingerprint": "ab"})

    (group,) = desk.reader.report().groups

    assert (group.type, group.fingerprint) == ("KeyError", "ab")


def test_letter_without_a_run_says_that_none_was_begun(desk: Desk) -> None:
    desk.letter()

    (group,) = desk.reader.report().groups

    assert (group.type, group.blame) == ("NeverBegun", Blame.AUTH)
    row = desk.ledger.table.rows["github:1", "run#triage"]
    assert (row["state"], row["carrier"]) == ("DEAD", "message-1")


def test_letter_whose_event_expired_is_told_and_nothing_is_written(desk: Desk) -> None:
    desk.letter()
    del desk.ledger.table.rows["github:1", "event"]

    (group,) = desk.reader.report().groups

    assert (group.type, group.blame) == ("Expired", Blame.UNDELIVERABLE)
    assert ("github:1", "run#triage") not in desk.ledger.table.rows


@pytest.mark.parametrize(
    "row",
    [
        {"state": "SUCCEEDED"},
        {"state": "PROCESSING", "carrier": "another"},
        {"state": "DEAD", "carrier": "another", "finished_at": 1},
    ],
    ids=["over", "carried by another", "dead by another"],
)
def test_copy_of_a_run_that_is_over_or_carried_is_counted_apart(
    desk: Desk, row: dict[str, Any]
) -> None:
    desk.run(desk.letter(), **row)

    report = desk.reader.report()

    assert (report.groups, report.strays, report.total) == ((), 1, 0)


def test_run_whose_lease_lasts_is_left_alone(desk: Desk) -> None:
    desk.run(desk.letter(), due_at=desk.clock.ms + 5_000)

    assert desk.reader.report().groups == ()
    assert desk.ledger.table.rows["github:1", "run#triage"]["state"] == "PROCESSING"


@pytest.mark.parametrize("body", ["", "not json", "[1]", '{"a": 1}', "\x00"])
def test_what_is_no_message_of_ours_is_told_too(desk: Desk, body: str) -> None:
    desk.boxes["triage"].letters.append(raw(1, body))

    (group,) = desk.reader.report().groups

    assert (group.type, group.blame) == ("NotOurs", Blame.UNDELIVERABLE)


@pytest.mark.parametrize(
    ("queue", "body", "attributes", "agent", "words"),
    [
        (
            "rules",
            '{"detail": {"event_id": "github:1"}}',
            {
                "ERROR_CODE": "NO_PERMISSIONS",
                "ERROR_MESSAGE": "no permission to the queue",
                "TARGET_ARN": "arn:aws:sqs:eu-central-1:1:TriageQueue",
            },
            "TriageQueue",
            "no permission",
        ),
        (
            "schedules",
            "{}",
            {
                "ERROR_CODE": "AWS.Scheduler.InternalServerError",
                "ERROR_MESSAGE": "failed",
                "SCHEDULE_ARN": "arn:aws:scheduler:eu-west-1:1:schedule/group/nightly",
            },
            "nightly",
            "InternalServerError",
        ),
        (
            "relay",
            '{"event_id": "github:1", "reason": "its kind has 200 characters"}',
            {},
            "relay",
            "its kind has",
        ),
        (
            "async",
            json.dumps(
                {
                    "requestContext": {
                        "functionArn": "arn:aws:lambda:eu-west-1:1:function:S:$LATEST",
                        "condition": "RetriesExhausted",
                    },
                    "responsePayload": {
                        "errorType": "Unavailable",
                        "errorMessage": "x",
                    },
                }
            ),
            {},
            "S",
            "x",
        ),
        ("rules", "?", {}, "-", "nobody says why"),
        ("schedules", "?", {}, "-", "nobody says why"),
        ("relay", "?", {}, "relay", "names no event"),
        ("async", "?", {}, "-", "no failed call"),
    ],
)
def test_other_failure_queues_are_read_each_in_its_own_way(
    desk: Desk,
    queue: str,
    body: str,
    attributes: dict[str, str],
    agent: str,
    words: str,
) -> None:
    desk.boxes[queue].letters.append(raw(1, body, **attributes))

    (group,) = desk.reader.report().groups

    assert (group.queue, group.agent) == (queue, agent)
    assert words in group.message


def test_letters_are_shown_again_at_once(desk: Desk) -> None:
    for _ in range(25):
        desk.letter()

    desk.reader.report()

    assert len(desk.boxes["triage"].letters) == 25
    assert desk.boxes["triage"].hidden == []


def test_queue_that_is_being_redriven_is_not_touched(desk: Desk) -> None:
    desk.letter()
    desk.boxes["triage"].moving = True

    report = desk.reader.report()

    assert desk.boxes["triage"].receives == 0
    assert "being redriven" in report.remarks[0]


def test_queue_that_cannot_be_read_does_not_silence_the_others(desk: Desk) -> None:
    desk.boxes["triage"].failures = [Unavailable("throttled")]
    desk.dead("billing")

    report = desk.reader.report()

    assert [group.agent for group in report.groups] == ["billing"]
    assert "triage could not be read" in report.remarks[0]


def test_ten_thousand_letters_of_one_fault_are_sampled_and_it_is_said(
    desk: Desk,
) -> None:
    desk.most_known = 50
    for _ in range(120):
        desk.dead()

    report = desk.reader.report()

    assert (report.read, report.total) == (50, 120)
    desk.morning.run()
    assert "50 of 120 letters were read" in json.dumps(desk.slack.posted)
