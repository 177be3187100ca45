"""What is said of schedules before they are deployed, with their next five fires."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lambdas.shared.fleet import FleetError, parse
from lambdas.shared.fleet.lint import lint
from tests.unit.fleet.broken import HELLO, of_schedule, problems

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def warnings(keys: str) -> list[str]:
    return lint(parse(of_schedule(f"agent = 'hello'\n{keys}")), NOW)


@pytest.mark.parametrize(
    ("zone", "time"),
    [
        ("Europe/Berlin", "30 2"),
        ("Europe/London", "0 1"),
        ("America/New_York", "59 2"),
        ("America/New_York", "0 *"),
        ("Africa/Cairo", "30 0"),
        ("America/Santiago", "30 23"),
        ("Australia/Lord_Howe", "45 1"),
    ],
)
def test_times_that_a_zone_leaves_out_or_shows_twice_are_warned_of(
    zone: str, time: str
) -> None:
    (told,) = warnings(f"cron = '{time} * * ? *'\ntimezone = '{zone}'")

    assert told.startswith("fleet.toml: schedules.nightly.cron: fires at ")
    assert f"in {zone}" in told
    assert "is skipped" in told
    assert "fires once" in told


@pytest.mark.parametrize(
    ("zone", "time"),
    [
        ("UTC", "30 2"),
        ("Asia/Tokyo", "30 2"),
        ("Europe/Berlin", "0 3"),
        ("Europe/Berlin", "59 0"),
        ("America/Santiago", "30 3"),
        ("America/Sao_Paulo", "30 2"),
    ],
)
def test_times_that_every_day_has_once_are_not(zone: str, time: str) -> None:
    assert warnings(f"cron = '{time} * * ? *'\ntimezone = '{zone}'") == []


def test_warning_shows_the_next_five_fires_in_the_schedules_own_zone() -> None:
    (told,) = warnings("cron = '30 2 ? MAR SUN *'\ntimezone = 'Europe/Berlin'")

    assert told.endswith(
        "the next five fires: Sun 2027-03-07 02:30 CET, Sun 2027-03-14 02:30 CET,"
        " Sun 2027-03-21 02:30 CET, Sun 2028-03-05 02:30 CET, Sun 2028-03-12 02:30 CET"
    )


@pytest.mark.parametrize(
    "keys",
    [
        "cron = '0 6 1 1 ? 2026'",
        "at = '2026-11-29T11:59:59'",
        "at = '2026-11-29T12:30:00'\ntimezone = 'Europe/Berlin'",
    ],
)
def test_what_has_fired_for_the_last_time_can_still_be_deployed(keys: str) -> None:
    (told,) = warnings(keys)

    assert "it has fired for the last time; the next five fires: none" in told


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (
            "at = '2027-03-28T02:30:00'\ntimezone = 'Europe/Berlin'",
            "at: want a time that exists: 2027-03-28T02:30:00 does not exist in"
            " Europe/Berlin",
        ),
        (
            "rate = '10 minutes'\nflexible_minutes = 10",
            "flexible_minutes: want less than the 10 minutes between two fires, got 10",
        ),
        (
            "cron = '0 6,7 * * ? *'\nflexible_minutes = 90",
            "flexible_minutes: want less than the 60 minutes between two fires, got 90",
        ),
    ],
)
def test_what_scheduler_cannot_do_is_refused(keys: str, problem: str) -> None:
    with pytest.raises(FleetError) as refused:
        warnings(keys)

    assert refused.value.problems == [f"fleet.toml: schedules.nightly.{problem}"]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (
            "cron = '0 6 31 2 ? *'",
            "cron: '0 6 31 2 ? *' never fires: no year of it has such a day; the next"
            " five fires: none",
        ),
        (
            "cron = '0 6 * * MON *'",
            "cron: want ? in exactly one of the fields day-of-month and day-of-week"
            " (EventBridge takes no expression with both), got '*' and 'MON'",
        ),
        (
            "rate = '1000000 days'",
            "rate: want a rate like '15 minutes', got '1000000 days'",
        ),
        ("rate = '0 minutes'", "rate: want a rate like '15 minutes', got '0 minutes'"),
        ("rate = '1 day'\ncatch_up = true", "catch_up: want last | all, got true"),
        ("rate = '1 day'\nitems = []", "items: want a list that is not empty, got []"),
        (
            "rate = '1 day'\nitems = ['a', 'b', 'a']",
            "items: want each once, got 'a' twice",
        ),
        (
            f"rate = '1 day'\nitems = {list(range(201))}",
            "items: want at most 200 of them, got 201",
        ),
        (
            f"rate = '1 day'\nitems = ['{'x' * 200_000}']",
            "items: want at most 200000 bytes as JSON, got 200002",
        ),
        (
            "rate = '1 day'\nitems = [2026-11-29]",
            "items: want what JSON can hold: Object of type date is not JSON"
            " serializable",
        ),
        ("rate = '1 day'\nitems = [nan]", "items: want what JSON can hold: Out of"),
    ],
)
def test_what_no_schedule_can_be_is_refused_where_it_is_read(
    keys: str, problem: str
) -> None:
    (told,) = problems(of_schedule(f"agent = 'hello'\n{keys}"))

    assert told.startswith(f"fleet.toml: schedules.nightly.{problem}")


def test_two_schedules_of_one_name_are_no_toml() -> None:
    table = "[schedules.nightly]\nagent = 'hello'\nrate = '1 day'\n"

    (told,) = problems(HELLO + table + table)

    assert told.startswith("fleet.toml: not TOML: Cannot declare ('schedules',")
