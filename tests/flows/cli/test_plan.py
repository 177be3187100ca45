"""`plan`: from a file before anything is deployed, and against a stack."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import boto3
import pytest
from typer.testing import CliRunner

from cli.main import app
from lambdas.planner.occurrence import ONCE, Occurrence
from lambdas.planner.record import BELIEVE, FEED
from lambdas.planner.rules import Wanted
from lambdas.planner.task import Task
from lambdas.shared.fleet import load
from tests.fakes.calendars import calendar
from tests.flows.cli.conftest import FLEET, Stack

MORE = """
[calendars.finance]
timezone = "America/New_York"
rules = [{ category = "month-end-close", agent = "hello" }]
"""
NOON = "2026-11-29T12:00:00Z"


def entry(uid: str, *lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", f"UID:{uid}", *lines, "END:VEVENT"])


FEEDS = {
    "good": calendar(
        entry("close", "SUMMARY:Month-end close", "DTSTART:20261228T170000Z"),
        entry("lunch", "SUMMARY:Lunch", "DTSTART:20261228T170000Z"),
        entry("broken", "SUMMARY:No start"),
    ),
    "none": b"<html>sign in</html>",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Feeds in a folder, and a fleet with a calendar; the clock stands at noon."""
    for name, body in FEEDS.items():
        (tmp_path / f"{name}.ics").write_bytes(body)
    fleet, clock = tmp_path / "planned.toml", tmp_path / "noon"
    fleet.write_text(FLEET + MORE, encoding="utf-8")
    clock.write_text(NOON, encoding="utf-8")
    monkeypatch.setenv("BELLHOP_FLEET", str(fleet))
    monkeypatch.setenv("BELLHOP_CLOCK_FILE", str(clock))
    return tmp_path


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["plan", *words])
    return result.exit_code, result.output


def test_plan_of_a_file_needs_no_stack(folder: Path) -> None:
    code, said = run("--feed", str(folder / "good.ics"))

    assert code == 0
    assert "2026-12-26 17:00Z  2026-12-28 17:00Z  month-end-close  hello" in said
    assert "Lunch" not in said


def test_explained_plan_says_what_is_passed_over_and_why(folder: Path) -> None:
    _, said = run("--feed", str(folder / "good.ics"), "--explain")

    assert "Lunch: no rule matches" in said
    assert "broken: no DTSTART" in said


def test_plan_of_fewer_days_holds_what_begins_in_them(folder: Path) -> None:
    _, said = run("--feed", str(folder / "good.ics"), "--days", "20")

    assert "nothing is planned" in said


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["--feed", "none.ics"], 1, "it is a page"),
        (["--feed", "absent.ics"], 2, "No such file"),
        (["--feed", "good.ics", "--calendar", "x"], 2, "there are: finance"),
        (["--feed", "http://feeds.example/"], 1, "want https://"),
        (["--feed", "/dev/zero"], 1, "more than 10000000"),
    ],
    ids=["page", "no file", "no calendar", "http", "endless"],
)
def test_what_cannot_be_read_is_one_sentence(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: int,
    why: str,
) -> None:
    monkeypatch.chdir(folder)

    ended, said = run(*words)

    assert (ended, why in said) == (code, True), said
    assert len(said.splitlines()) == 1


def test_plan_of_a_stack_shows_what_is_planned_though_its_feed_is_not_read(
    folder: Path, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELLHOP_FLEET", str(folder / "planned.toml"))
    boto3.client("secretsmanager").create_secret(
        Name="bellhop/calendar-finance", SecretString="http://feeds.example/"
    )
    start = datetime(2026, 12, 28, 17, tzinfo=UTC)
    occurrence = Occurrence(uid="a", name=ONCE, start=start, end=start, title="Close")
    (rule,) = load().calendars["finance"].rules
    wanted = Wanted(occurrence=occurrence, rule=rule, begin_at=start)
    stack.table.put(Task.of("finance", wanted).to_row())

    answer = stack.run("plan")

    assert answer.code == 1
    assert [row["title"] for row in answer.json] == ["Close"]


def test_operator_says_that_what_is_gone_is_gone(
    folder: Path, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELLHOP_FLEET", str(folder / "planned.toml"))

    assert stack.run("plan", "--believe", "finance").code == 0

    row = stack.table.get("plan#finance", FEED)
    assert row is not None
    assert row[BELIEVE] is True
