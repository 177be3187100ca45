"""The doorways of cron and watcher, wired as in AWS, over moto."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from moto import mock_aws

from lambdas.cron import handler as cron_handler
from lambdas.cron.request import NotATick
from lambdas.shared.adapters import aws, dynamodb
from lambdas.shared.settings import CronSettings, LedgerSettings, WatcherSettings
from lambdas.watcher import handler as watcher_handler
from tests.fakes.moto_ledger import BUCKET, TABLE, make_bucket, make_table

_FLEET = """
    [agents.triage]
    run = "agents.triage:run"
    [schedules.hourly]
    agent = "triage"
    cron = "0 * * * ? *"
    timezone = "Europe/Berlin"
    overlap = "queue"
"""
NINE, TEN = "2026-11-29T09:00:00Z", "2026-11-29T10:00:00Z"


@dataclass
class Context:
    """What Lambda tells a function of its invocation."""

    function_name: str = "bellhop"
    memory_limit_in_mb: int = 512
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:f"
    aws_request_id: str = "52fdfc07-2182-454f-963f-5f0f9a621d72"


CONTEXT = cast("LambdaContext", Context())


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An account with the fleet's things in it, and its clock."""
    fleet, clock_file = tmp_path / "fleet.toml", tmp_path / "clock"
    fleet.write_text(_FLEET)
    clock_file.write_text(NINE)
    named = {"ledger_table": TABLE, "payload_bucket": BUCKET}
    environ = CronSettings(**named).to_env() | WatcherSettings(**named).to_env()
    environ |= {"BELLHOP_FLEET": str(fleet), "BELLHOP_CLOCK_FILE": str(clock_file)}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        _forget()
        make_table()
        make_bucket()
        yield clock_file
    _forget()


def _forget() -> None:
    aws.client.cache_clear()
    cron_handler._ticks.cache_clear()
    watcher_handler._watcher.cache_clear()


def given(planned: str, **more: Any) -> dict[str, Any]:
    """Return what Scheduler sends for the input that the stack writes."""
    return {
        "schedule": "hourly",
        "planned": planned,
        "execution": "d32c5kddcf5bb8c3",
        "attempt": "1",
        **more,
    }


def rows(pk: str) -> dict[str, dict[str, Any]]:
    table = dynamodb.table(LedgerSettings(ledger_table=TABLE, payload_bucket=BUCKET))
    return {row["sk"]: dict(row) for row in table.query(pk)}


def test_tick_is_written_down_and_the_next_one_put_in_line(clock: Path) -> None:
    first = cron_handler.handle(given(NINE), CONTEXT)
    clock.write_text(TEN)
    second = cron_handler.handle(given(TEN), CONTEXT)
    again = cron_handler.handle(given(NINE, attempt="2"), CONTEXT)

    assert (first, second) == ({"fired": "run"}, {"fired": "waiting"})
    assert again == {"fired": "duplicate"}
    assert set(rows(f"cron:hourly:{NINE}")) == {"event"}
    assert rows(f"cron:hourly:{TEN}") == {}
    line = rows("schedule#hourly")
    assert line["state"]["active"] == NINE
    assert line[f"waiting#{TEN}"]["state"] == "WAITING"


def test_literal_attribute_fails_the_invocation(clock: Path) -> None:
    with pytest.raises(NotATick, match="has not put its planned time"):
        cron_handler.handle(given("<aws.scheduler.scheduled-time>"), CONTEXT)

    assert rows("schedule#hourly") == {}


def test_watcher_reports_what_did_not_come_and_sends_its_heartbeat(
    clock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = watcher_handler.handle({}, CONTEXT)
    clock.write_text("2026-11-29T10:05:01Z")

    found = watcher_handler.handle({}, CONTEXT)

    nothing = {"missed": 0, "late": 0, "overruns": 0, "failed": 0}
    assert (first, found) == (nothing, {**nothing, "missed": 1})
    assert f"missed#{TEN}" in rows("schedule#hourly")
    said = capsys.readouterr().out
    assert said.count('"WatcherHeartbeat"') >= 2
    assert '"MissedFires"' in said


def test_watcher_lets_the_next_tick_in_and_clears_the_line(clock: Path) -> None:
    watcher_handler.handle({}, CONTEXT)
    cron_handler.handle(given(NINE), CONTEXT)
    clock.write_text(TEN)
    cron_handler.handle(given(TEN), CONTEXT)

    # No worker ever began the first one: after two hours it is lost.
    clock.write_text("2026-11-29T11:00:01Z")
    watcher_handler.handle({}, CONTEXT)

    assert set(rows(f"cron:hourly:{TEN}")) == {"event"}
    assert not [sk for sk in rows("schedule#hourly") if sk.startswith("waiting#")]
