"""`plan` of a calendar of Google's: by its key alone, and against a stack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from typer.testing import CliRunner

from cli.main import app
from lambdas.shared.outside import WORLD_URL_VARIABLE
from tests.fakes.google import API, CALENDAR, TOKENS, FakeGoogle, service_account
from tests.fakes.services import Services, serving
from tests.flows.cli.conftest import FLEET, Stack

MORE = f"""
[calendars.finance]
feed = "google"
calendar_id = "{CALENDAR}"
rules = [{{ category = "month-end-close", agent = "hello" }}]
"""
NOON = "2026-11-29T12:00:00Z"
ROW = "2026-12-26 17:00Z  2026-12-28 17:00Z  month-end-close  hello"


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGoogle]:
    """Google on this machine, with one entry; its key lies in a file."""
    google = FakeGoogle()
    due = {"dateTime": "2026-12-28T17:00:00Z"}
    google.put({"id": "close", "summary": "Month-end", "start": due, "end": due})
    (tmp_path / "key.json").write_text(service_account(), encoding="utf-8")
    (tmp_path / "planned.toml").write_text(FLEET + MORE, encoding="utf-8")
    (tmp_path / "noon").write_text(NOON, encoding="utf-8")
    monkeypatch.setenv("BELLHOP_FLEET", str(tmp_path / "planned.toml"))
    monkeypatch.setenv("BELLHOP_CLOCK_FILE", str(tmp_path / "noon"))
    monkeypatch.chdir(tmp_path)
    with serving(Services({API: google, TOKENS: google})) as services:
        monkeypatch.setenv(WORLD_URL_VARIABLE, services.url)
        yield google


def test_plan_of_a_key_needs_no_stack(google: FakeGoogle) -> None:
    result = CliRunner().invoke(app, ["plan", "--feed", "key.json"])

    assert result.exit_code == 0, result.output
    assert ROW in result.output


def test_key_that_is_refused_is_one_sentence_that_says_who_must_act(
    google: FakeGoogle,
) -> None:
    google.shared_with.clear()

    result = CliRunner().invoke(app, ["plan", "--feed", "key.json"])

    assert result.exit_code == 1
    assert f"share the calendar '{CALENDAR}' with" in result.output
    assert len(result.output.splitlines()) == 1


def test_plan_of_a_stack_reads_the_calendar_by_its_secret(
    stack: Stack, google: FakeGoogle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELLHOP_FLEET", str(tmp_path / "planned.toml"))
    monkeypatch.setenv("BELLHOP_CLOCK_FILE", str(tmp_path / "noon"))
    boto3.client("secretsmanager").create_secret(
        Name="bellhop/calendar-finance", SecretString=service_account()
    )

    answered = stack.run("plan")

    assert answered.code == 0, answered.err
    (row,) = answered.json
    assert (row["begins"], row["state"]) == ("2026-12-26 17:00Z", "planned")
