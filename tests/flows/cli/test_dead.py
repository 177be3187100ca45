"""Dead letters on the command line: chosen, counted, decided about; mistakes told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner

from cli.main import app
from cli.target import Target
from lambdas.shared import clock
from lambdas.shared.clock import milliseconds
from lambdas.shared.event import Content, Event
from lambdas.shared.story import Reason
from tests.fakes import moto_ledger

FLEET = """
[sources.github]
[agents.triage]
run = "agents.hello:run"
on = [{ source = "github", kind = "issues.opened" }]
[agents.billing]
run = "agents.hello:run"
on = [{ source = "github", kind = "issues.closed" }]
"""
_OTHERS = ("RuleDeadLetters", "ScheduleDeadLetters", "RelayParked", "AsyncFailures")


@dataclass
class Desk:
    """A deployed fleet in moto, and an operator."""

    target: Target
    numbers: int = 0

    def run(self, *words: str) -> tuple[int, Any, str]:
        """Run `bellhop`; returns its code, what it answered and its complaint."""
        result = CliRunner().invoke(app, [*words, "--stack", "Bellhop", "--json"])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        out = json.loads(result.stdout) if result.stdout.strip() else None
        return result.exit_code, out, result.stderr

    def dead(
        self, agent: str = "triage", age: timedelta = timedelta(0), **why: Any
    ) -> str:
        """Leave a dead letter; returns its event's id."""
        self.numbers += 1
        now = clock.now() - age
        expires = clock.now() + why.pop("lives", timedelta(days=30))
        event = Event(
            id=f"github:{self.numbers}",
            source="github",
            kind="issues.opened",
            occurred_at=now,
            received_at=now,
            content=Content(b"{}", "application/json"),
        )
        self.target.ledger.accept(event, via="queue")
        carrier = self._letter(agent, event, expires)
        self.target.table.put(
            {
                "pk": event.id,
                "sk": f"run#{agent}",
                "state": "DEAD",
                "attention": "DEAD",
                "attempt": 5,
                "carrier": carrier,
                "claim_token": "t",
                "generation": 0,
                "started_at": milliseconds(now),
                "sent_at": milliseconds(now),
                "finished_at": milliseconds(now) - 1,
                "expires_at": int(expires.timestamp()),
                "reason": _reason(**why).to_row(),
            }
        )
        return event.id

    def _letter(self, agent: str, event: Event, expires: datetime) -> str:
        detail = {
            "event_id": event.id,
            "expires_at": int(expires.timestamp()),
            "received_at": event.received_at.isoformat(),
        }
        told = {"source": "bellhop.github", "detail-type": "x", "detail": detail}
        sent = self.target.client("sqs").send_message(
            QueueUrl=self.letters(agent), MessageBody=json.dumps(told)
        )
        return str(sent["MessageId"])

    def letters(self, agent: str) -> str:
        return self.target.outputs[f"DeadLetters{agent.capitalize()}"]

    def waiting(self, url: str) -> int:
        told = self.target.client("sqs").get_queue_attributes(
            QueueUrl=url, AttributeNames=["All"]
        )["Attributes"]
        return int(told["ApproximateNumberOfMessages"])


def _reason(group: str = "a" * 16, fault: str = "downstream_unavailable") -> Reason:
    return Reason(
        category="error",
        type="HTTPError",
        message="503 Server Error",
        fingerprint=group,
        downstream="portal.example.com",
        fault=fault,
    )


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    file = tmp_path / "fleet.toml"
    file.write_text(FLEET, encoding="utf-8")
    with mock_aws():
        moto_ledger.make_table()
        moto_ledger.make_bucket()
        sqs = boto3.client("sqs")
        names = [f"{kind}{a}" for a in ("Triage", "Billing") for kind in _KINDS]
        outputs = {
            name: sqs.create_queue(QueueName=name)["QueueUrl"]
            for name in [*names, *_OTHERS]
        }
        target = Target(
            name="Bellhop",
            api_url="https://api.example.com",
            ledger_table=moto_ledger.TABLE,
            payload_bucket=moto_ledger.BUCKET,
            bus="fleet",
            outputs=outputs,
            session=boto3.Session(region_name="eu-central-1"),
            fleet_file=file,
        )
        find: Callable[..., Target] = lambda **_: target  # noqa: E731
        monkeypatch.setattr("cli.target.find", find)
        yield Desk(target)


_KINDS = ("Queue", "DeadLetters")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["replay"], "say which"),
        (["replay", "--agent", "ghost"], "no agent 'ghost'"),
        (["replay", "--category", "rain"], "no category 'rain'"),
        (["replay", "--agent", "triage", "--fresh-effects"], "needs --again"),
        (["replay", "--again", "--agent", "triage"], "--again wants event ids"),
        (["replay", "--queue", "ghost"], "no queue 'ghost'"),
        (["replay", "--older-than", "soon", "--all"], "want a duration"),
        (["digest"], "say --preview"),
    ],
)
def test_mistake_is_told_in_one_sentence(
    desk: Desk, words: list[str], why: str
) -> None:
    code, out, err = desk.run(*words)

    assert (code, out) == (2, None)
    assert why in json.loads(err)["error"]


@pytest.mark.parametrize(
    "words",
    [["dead", "show", "ffff"], ["dead", "ack", "ffff"], ["replay", "--resume", "x"]],
)
def test_what_is_not_there_is_said(desk: Desk, words: list[str]) -> None:
    code, _, err = desk.run(*words)

    assert code == 1
    assert "no " in json.loads(err)["error"]


def test_dry_run_counts_and_sends_nothing(desk: Desk) -> None:
    for _ in range(3):
        desk.dead()

    code, out, _ = desk.run("replay", "--agent", "triage", "--dry-run")

    assert (code, out["would_send"], out["sent"]) == (0, 3, 0)
    assert desk.waiting(desk.letters("triage")) == 3


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (["--agent", "triage"], 3),
        (["--agent", "billing"], 1),
        (["--group", "b" * 16], 1),
        (["--category", "auth"], 1),
        (["--older-than", "1h"], 1),
        (["--newer-than", "1h"], 3),
        (["github:1"], 1),
        (["--all"], 4),
    ],
)
def test_replay_sends_what_was_chosen_and_no_more(
    desk: Desk, words: list[str], sent: int
) -> None:
    desk.dead()
    desk.dead(age=timedelta(hours=2))
    desk.dead(group="b" * 16, fault="auth")
    desk.dead("billing")

    code, out, _ = desk.run("replay", *words, "--rate", "500", "--wait", "0s")

    urls = [desk.target.outputs[f"Queue{name}"] for name in ("Triage", "Billing")]
    left = [desk.waiting(desk.letters(name)) for name in ("triage", "billing")]
    assert (code, out["sent"]) == (0, sent)
    assert sum(map(desk.waiting, urls)) == sent
    assert sum(left) == 4 - sent


def test_pressed_twice_it_sends_once(desk: Desk) -> None:
    desk.dead()
    words = ("replay", "--all", "--rate", "500", "--wait", "0s")

    _, first, _ = desk.run(*words)
    _, second, _ = desk.run(*words)

    assert (first["sent"], second["sent"], second["taken"]) == (1, 0, 1)
    assert desk.waiting(desk.target.outputs["QueueTriage"]) == 1


def test_letter_whose_event_is_about_to_expire_is_left(desk: Desk) -> None:
    desk.dead(lives=timedelta(seconds=30))

    _, out, _ = desk.run("replay", "--all", "--wait", "0s")

    assert (out["too_old"], out["sent"]) == (1, 0)
    assert desk.waiting(desk.letters("triage")) == 1


def test_letter_that_is_gone_is_replayed_from_the_ledger(desk: Desk) -> None:
    event_id = desk.dead()
    desk.target.client("sqs").purge_queue(QueueUrl=desk.letters("triage"))

    _, out, _ = desk.run("replay", event_id, "--wait", "0s")

    queue = desk.target.outputs["QueueTriage"]
    (message,) = desk.target.client("sqs").receive_message(QueueUrl=queue)["Messages"]
    assert out["sent"] == 1
    assert json.loads(message["Body"])["detail"]["event_id"] == event_id


def test_replay_is_written_down_with_who_and_what(desk: Desk) -> None:
    desk.dead()

    _, out, _ = desk.run("replay", "--all", "--rate", "500", "--wait", "0s")

    job = desk.target.table.get(f"replay#{out['job']}", "job")
    assert job is not None
    assert (job["state"], job["total"], job["sent"]) == ("DONE", 1, 1)
    day = f"audit#{clock.now():%Y-%m-%d}"
    entries = [row["what"] for row in desk.target.table.query(day)]
    assert sorted(entries) == ["replay done: 1 sent, 1 under way", "replay of 1 began"]


def test_audit_of_an_event_tells_the_replay_that_named_it(desk: Desk) -> None:
    event_id = desk.dead()

    _, out, _ = desk.run("replay", event_id, "--older-than", "0s", "--wait", "0s")
    _, acts, _ = desk.run("audit", event_id)

    (began,) = [act for act in acts if act["what"] == "replay of 1 began"]
    job, named, until = began["about"].split()
    assert (job, named) == (out["job"], event_id)
    assert until.startswith(f"died_until={clock.now():%Y-%m-%dT}")


def test_group_is_listed_shown_and_decided_about(desk: Desk) -> None:
    desk.dead()
    desk.dead()

    code, (row,), _ = desk.run("dead", "list")
    _, shown, _ = desk.run("dead", "show", "aaaa")
    acked, decided, _ = desk.run("dead", "ack", "aaaa", "--note", "OPS-77")
    quiet, rows, _ = desk.run("dead", "list")
    _, all_rows, _ = desk.run("dead", "list", "--all")

    assert (code, row["letters"], row["category"]) == (1, 2, "downstream_unavailable")
    assert len(shown["dead_letters"]) == 2
    assert shown["replay"].startswith("bellhop replay --stack Bellhop --agent triage")
    assert shown["console"].startswith(
        "https://eu-central-1.console.aws.amazon.com/sqs"
    )
    assert (acked, decided["standing"]) == (0, "ACKNOWLEDGED")
    assert (quiet, rows) == (0, [])
    assert all_rows[0]["standing"] == "ACKNOWLEDGED"


def test_digest_preview_is_what_slack_would_be_given(
    desk: Desk, tmp_path: Path
) -> None:
    desk.dead()
    page = tmp_path / "digest.html"

    code, message, _ = desk.run("digest", "--preview", "--html", str(page))

    assert code == 0
    assert message["blocks"][0]["text"]["text"] == "1 dead letter of 1 agent, 1 fault"
    assert "<h1>1 dead letter" in page.read_text(encoding="utf-8")


def test_parked_event_is_published_again_and_its_letter_deleted(desk: Desk) -> None:
    desk.target.client("events").create_event_bus(Name="fleet")
    event_id = desk.dead()
    queue = desk.target.outputs["RelayParked"]
    sqs = desk.target.client("sqs")
    for named in (event_id, "github:unknown"):
        body = json.dumps({"event_id": named, "reason": "its kind is too long"})
        sqs.send_message(QueueUrl=queue, MessageBody=body)

    code, out, _ = desk.run("replay", "--queue", "relay")

    assert (code, out["sent"], out["kept"]) == (1, 1, 1)
    assert "the ledger does not hold github:unknown" in out["reasons"][0]
    assert desk.waiting(queue) == 1


def test_what_a_rule_could_not_deliver_is_put_on_the_agents_queue(desk: Desk) -> None:
    queue = desk.target.outputs["RuleDeadLetters"]
    for name in ("QueueTriage", "QueueOfNobody"):
        desk.target.client("sqs").send_message(
            QueueUrl=queue,
            MessageBody='{"detail": {}}',
            MessageAttributes={
                key: {"DataType": "String", "StringValue": value}
                for key, value in {
                    "ERROR_CODE": "NO_PERMISSIONS",
                    "ERROR_MESSAGE": "no",
                    "TARGET_ARN": f"arn:aws:sqs:eu-central-1:123456789012:{name}",
                }.items()
            },
        )

    code, out, _ = desk.run("replay", "--queue", "rules")

    assert (code, out["sent"], out["kept"]) == (1, 1, 1)
    assert desk.waiting(desk.target.outputs["QueueTriage"]) == 1
