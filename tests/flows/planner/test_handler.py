"""The planner as Lambda calls it: AWS is moto, the feed's site is on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lambdas.planner import handler
from lambdas.shared.adapters import aws, dynamodb
from lambdas.shared.ledger import TableLedger
from lambdas.shared.settings import PlannerSettings
from tests.fakes.calendars import calendar
from tests.fakes.moto_ledger import BUCKET, TABLE, make_bucket, make_table

ARN = "arn:aws:lambda:eu-central-1:123456789012:function:planner"
ROLE = "arn:aws:iam::123456789012:role/tasks"
FAILURES = "arn:aws:sqs:eu-central-1:123456789012:schedules"
GROUP = "tasks"
FLEET = """
[agents.closer]
run = "agents.hello:run"

[calendars.finance]
rules = [{ category = "month-end-close", agent = "closer" }]

[calendars.broken]
rules = [{ category = "quarterly-board", agent = "closer" }]
"""
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Site:
    """Serves ``pages`` by path; anything else is 404."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = site.pages.get(self.path)
                self.send_response(200 if page is not None else 404)
                self.send_header("content-length", str(len(page or b"")))
                self.end_headers()
                self.wfile.write(page or b"")

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.server.shutdown()
    site.server.server_close()


@pytest.fixture
def clock_file(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The stack, whose clock is this file."""
    fleet, file = tmp_path / "fleet.toml", tmp_path / "clock"
    fleet.write_text(FLEET, encoding="utf-8")
    file.write_text(NOW.isoformat(), encoding="utf-8")
    settings = PlannerSettings(
        ledger_table=TABLE,
        payload_bucket=BUCKET,
        schedule_group=GROUP,
        schedule_role=ROLE,
        schedule_failures=FAILURES,
    )
    variables = {
        **settings.to_env(),
        "BELLHOP_FLEET": str(fleet),
        "BELLHOP_CLOCK_FILE": str(file),
        "BELLHOP_WORLD_URL": f"http://127.0.0.1:{site.server.server_port}",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    handler._planner.cache_clear()
    aws.client.cache_clear()
    with mock_aws():
        make_table()
        make_bucket()
        boto3.client("scheduler").create_schedule_group(Name=GROUP)
        secrets = boto3.client("secretsmanager")
        for name in ("finance", "broken"):
            secrets.create_secret(
                Name=f"bellhop/calendar-{name}",
                SecretString=f"webcal://feeds.example/{name}.ics",
            )
        yield file
    handler._planner.cache_clear()
    aws.client.cache_clear()


def handle(event: dict[str, Any]) -> dict[str, str]:
    context: Any = SimpleNamespace(
        function_name="planner",
        memory_limit_in_mb=1536,
        invoked_function_arn=ARN,
        aws_request_id="1",
    )
    return handler.handle(event, context)


def schedules() -> list[Any]:
    client = boto3.client("scheduler")
    names = client.list_schedules(GroupName=GROUP)["Schedules"]
    return [client.get_schedule(Name=s["Name"], GroupName=GROUP) for s in names]


def ledger() -> TableLedger:
    settings: Any = SimpleNamespace(ledger_table=TABLE, payload_bucket=BUCKET)
    return dynamodb.ledger(settings, ledger_days=45)


def entry(start: str) -> bytes:
    lines = ["BEGIN:VEVENT", "UID:close", "SUMMARY:Month-end", f"DTSTART:{start}"]
    return calendar("\r\n".join([*lines, "END:VEVENT"]))


def test_task_gets_one_schedule_that_deletes_itself_and_becomes_an_event(
    site: Site, clock_file: Path
) -> None:
    site.pages["/feeds.example/finance.ics"] = entry("20261128T170000Z")

    said = handle({})
    handle({})

    assert said["finance"] == "1 changes"
    assert said["broken"] == "not obeyed: feeds.example answered 404"
    (schedule,) = schedules()
    assert schedule["ScheduleExpression"] == "at(2026-11-26T17:00:00)"
    assert schedule["ActionAfterCompletion"] == "DELETE"
    assert schedule["Target"]["Arn"] == ARN
    assert schedule["Target"]["RoleArn"] == ROLE
    assert schedule["Target"]["DeadLetterConfig"]["Arn"] == FAILURES

    clock_file.write_text("2026-11-26T17:00:01+00:00", encoding="utf-8")
    told = json.loads(schedule["Target"]["Input"])
    assert handle(told) == {"task": "begun"}
    assert handle(told) == {"task": "nothing to do: begun"}
    event = ledger().event(told["task"])
    assert event is not None
    assert event.kind == "month-end-close"


def test_moved_task_has_one_schedule_at_its_new_time(
    site: Site, clock_file: Path
) -> None:
    site.pages["/feeds.example/finance.ics"] = entry("20261128T170000Z")
    handle({})
    site.pages["/feeds.example/finance.ics"] = entry("20261129T180000Z")

    handle({})

    (schedule,) = schedules()
    assert schedule["ScheduleExpression"] == "at(2026-11-27T18:00:00)"


def test_cancelled_task_has_no_schedule(site: Site, clock_file: Path) -> None:
    site.pages["/feeds.example/finance.ics"] = entry("20261128T170000Z")
    handle({})
    site.pages["/feeds.example/finance.ics"] = entry(
        "20261128T170000Z\r\nSTATUS:CANCELLED"
    )

    handle({})

    assert schedules() == []
