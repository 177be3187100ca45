"""A calendar of Google's as Lambda's planner reads it: over HTTP, AWS is moto."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lambdas.planner import handler
from lambdas.shared.adapters import aws, dynamodb
from lambdas.shared.outside import WORLD_URL_VARIABLE
from lambdas.shared.settings import PlannerSettings
from tests.fakes.google import API, CALENDAR, TOKENS, FakeGoogle, error, service_account
from tests.fakes.moto_ledger import BUCKET, TABLE, make_bucket, make_table
from tests.fakes.services import CUT_BEFORE_ACTING, Fault, Services, serving

ARN = "arn:aws:lambda:eu-central-1:123456789012:function:planner"
FLEET = f"""
[agents.closer]
run = "agents.hello:run"

[calendars.absent]
feed = "google"
calendar_id = "primary"
rules = [{{ category = "month-end-close", agent = "closer" }}]

[calendars.finance]
feed = "google"
calendar_id = "{CALENDAR}"
rules = [{{ category = "month-end-close", agent = "closer" }}]

[calendars.gone]
feed = "google"
calendar_id = "gone@group.calendar.google.com"
secret_name = "bellhop/calendar-finance"
rules = [{{ category = "month-end-close", agent = "closer" }}]
"""
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DOWN = Fault(acts=False, reply=error(503, "backendError", "Backend Error"))


@pytest.fixture
def services() -> Iterator[Services]:
    google = FakeGoogle(page=2)
    with serving(Services({API: google, TOKENS: google})) as services:
        yield services


@pytest.fixture
def google(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeGoogle]:
    """Google, and a stack with three calendars of it, of which two cannot be read."""
    (tmp_path / "fleet.toml").write_text(FLEET, encoding="utf-8")
    (tmp_path / "clock").write_text(NOW.isoformat(), encoding="utf-8")
    settings = PlannerSettings(
        ledger_table=TABLE,
        payload_bucket=BUCKET,
        schedule_group="tasks",
        schedule_role="arn:aws:iam::123456789012:role/tasks",
        schedule_failures="arn:aws:sqs:eu-central-1:123456789012:schedules",
    )
    variables = {
        **settings.to_env(),
        "BELLHOP_FLEET": str(tmp_path / "fleet.toml"),
        "BELLHOP_CLOCK_FILE": str(tmp_path / "clock"),
        WORLD_URL_VARIABLE: services.url,
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    handler._planner.cache_clear()
    aws.client.cache_clear()
    with mock_aws():
        make_table()
        make_bucket()
        boto3.client("scheduler").create_schedule_group(Name="tasks")
        boto3.client("secretsmanager").create_secret(
            Name="bellhop/calendar-finance", SecretString=service_account()
        )
        found: Any = services.services[API]
        yield found
    handler._planner.cache_clear()
    aws.client.cache_clear()


def look() -> dict[str, str]:
    context: Any = SimpleNamespace(
        function_name="planner",
        memory_limit_in_mb=1536,
        invoked_function_arn=ARN,
        aws_request_id="1",
    )
    return handler.handle({}, context)


def close(google: FakeGoogle, name: str, day: int) -> None:
    due = {"dateTime": f"2026-12-{day:02}T17:00:00Z"}
    google.put({"id": name, "summary": "Month-end", "start": due, "end": due})


def schedules() -> list[str]:
    client = boto3.client("scheduler")
    names = client.list_schedules(GroupName="tasks")["Schedules"]
    found = [client.get_schedule(Name=s["Name"], GroupName="tasks") for s in names]
    return sorted(each["ScheduleExpression"][8:13] for each in found)


def feed_row() -> dict[str, Any]:
    settings: Any = SimpleNamespace(ledger_table=TABLE, payload_bucket=BUCKET)
    row: Any = dynamodb.table(settings).get("plan#finance", "feed")
    told: dict[str, Any] = json.loads(row["feed"])
    return told


def test_tasks_follow_the_calendar_from_look_to_look(google: FakeGoogle) -> None:
    for number in range(5):
        close(google, f"close{number}", 10 + number)
    said = look()
    assert "secret bellhop/calendar-absent cannot be fetched" in said.pop("absent")
    assert said == {
        "gone": "not obeyed: Google answered 404 (notFound): there is no calendar"
        " 'gone@group.calendar.google.com', or it is not shared with"
        " planner@acme.iam.gserviceaccount.com",
        "finance": "5 changes",
    }
    assert schedules() == ["12-08", "12-09", "12-10", "12-11", "12-12"]

    close(google, "close1", 20)
    google.delete("close2")
    assert look()["finance"] == "2 changes"
    assert google.asked(syncToken="5.false")
    assert schedules() == ["12-08", "12-11", "12-12", "12-18"]

    google.expire_sync_tokens()
    google.delete("close3")
    assert look()["finance"] == "1 changes"
    assert schedules() == ["12-08", "12-12", "12-18"]
    assert look()["finance"] == "0 changes"


def test_token_and_entries_of_one_look_are_remembered_together(
    google: FakeGoogle,
) -> None:
    close(google, "close", 10)
    look()
    before = feed_row()
    close(google, "other", 11)

    look()

    after = feed_row()
    assert (before["token"], after["token"]) == ("1.false", "2.false")
    assert before["kept"] != after["kept"]
    for kept in (before["kept"], after["kept"]):
        boto3.client("s3").head_object(Bucket=BUCKET, Key=kept)


@pytest.mark.parametrize(
    "faults",
    [[DOWN, DOWN], [CUT_BEFORE_ACTING]],
    ids=["503 twice", "broken off"],
)
def test_failure_on_the_way_is_made_good_within_the_look(
    google: FakeGoogle, services: Services, faults: list[Fault]
) -> None:
    close(google, "close", 10)
    look()
    close(google, "other", 11)
    services.faults.extend(faults)

    assert look()["finance"] == "1 changes"
