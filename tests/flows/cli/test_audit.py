"""`bellhop audit` tells who did what, and nothing of it can be taken back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import boto3
import pytest

from lambdas.shared.adapters.s3 import S3Bodies
from lambdas.shared.ledger import Audit, TableLedger
from tests.flows.cli.conftest import BUCKET, Stack

NOW = datetime.now(UTC)
JUST_NOW = timedelta(0)


def noted(stack: Stack, what: str, *, ago: timedelta, about: str = "github") -> None:
    at = datetime.now(UTC) - ago
    entry = Audit(id=what, at=at, who="ada", what=what, about=about)
    ledger(stack).audit(entry)


def ledger(stack: Stack) -> TableLedger:
    s3 = boto3.client("s3", region_name="us-east-1")
    return TableLedger(stack.table, S3Bodies(BUCKET, lambda: s3), ledger_days=45)


def acts(stack: Stack, *words: str) -> list[tuple[str, str]]:
    answered = stack.run("audit", *words)
    assert answered.code == 0, answered.err
    return [(row["who"], row["what"]) for row in answered.json]


def test_acts_of_operators_are_told_oldest_first_across_days(stack: Stack) -> None:
    noted(stack, "secret rotated", ago=timedelta(hours=1))
    noted(stack, "replay", ago=timedelta(days=2))
    noted(stack, "secret set", ago=timedelta(days=9))

    assert acts(stack, "--since", "3d") == [
        ("ada", "replay"),
        ("ada", "secret rotated"),
    ]
    assert acts(stack, "--since", "30d", "--until", "4d") == [("ada", "secret set")]
    assert acts(stack, "--since", "10m") == []


def test_an_event_is_told_from_who_sent_it_to_who_ran_it(stack: Stack) -> None:
    event_id = stack.run("send", "github", "issues.opened").json[0]["event_id"]
    noted(stack, "replay", ago=JUST_NOW, about=f"{event_id} hello")
    noted(stack, "replay of another", ago=JUST_NOW, about=f"{event_id}0 hello")

    told = acts(stack, event_id)

    assert [what for _, what in told] == ["accepted by the door", "replay"]
    assert told[0][0].startswith("github")
    assert acts(stack, "--all")[0] == told[0]


def test_an_entry_is_never_written_over(stack: Stack) -> None:
    entry = Audit(id="1", at=NOW, who="ada", what="replay", about="github:1")

    ledger(stack).audit(entry)
    ledger(stack).audit(replace(entry, who="somebody else", what="nothing at all"))

    assert acts(stack) == [("ada", "replay")]


def test_an_event_that_is_not_there_is_said(stack: Stack) -> None:
    assert stack.run("audit", "github:nothing").code == 1


@pytest.mark.parametrize("words", [("--since", "yesterday"), ("--until", "x")])
def test_a_time_that_is_none_is_said(stack: Stack, words: tuple[str, str]) -> None:
    assert stack.run("audit", *words).code == 2
