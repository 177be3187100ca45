"""Which entries are deadlines, and when their work begins."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lambdas.planner.occurrence import ONCE, Occurrence
from lambdas.planner.rules import Rules, fits
from lambdas.shared.fleet import Calendar, CalendarRule, FleetError, parse
from tests.fakes.calendars import utc

ENTRY = Occurrence(
    uid="a",
    name=ONCE,
    start=utc("2026-12-28T17:00:00"),
    end=utc("2026-12-28T18:00:00"),
    title="Month-End  Close\nDecember",
    description="Books of ACME",
    categories=("Finance", "Monthly"),
    attendees=("cfo@acme.example", "team@acme.example"),
)


def rule(**given: Any) -> CalendarRule:
    return CalendarRule(category="close", agent="closer", **given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"title": "month-end*"},
        {"title": "*close*"},
        {"title": "/end close dec/"},
        {"title": "/^MONTH/"},
        {"description": "*acme*"},
        {"tagged": "finance"},
        {"attendee": "cfo@*"},
        {"title": "*close*", "tagged": "monthly", "attendee": "/^team@/"},
    ],
    ids=str,
)
def test_rule_fits(given: dict[str, str]) -> None:
    assert fits(rule(**given), ENTRY)


@pytest.mark.parametrize(
    "given",
    [
        {"title": "close"},
        {"title": "/^close/"},
        {"description": "acme"},
        {"tagged": "fin"},
        {"attendee": "ceo@*"},
        {"title": "*close*", "attendee": "ceo@*"},
    ],
    ids=str,
)
def test_rule_does_not_fit(given: dict[str, str]) -> None:
    assert not fits(rule(**given), ENTRY)


def begin(deadline: str, zone: str = "America/New_York", **given: Any) -> datetime:
    holidays = given.pop("holidays", None)
    calendar = Calendar(
        name="finance", feed="ical", secret_name="x", timezone=zone, holidays=holidays
    )
    return Rules(calendar, ZoneInfo(zone)).begin_at(utc(deadline), rule(**given))


@pytest.mark.parametrize(
    ("deadline", "given", "start"),
    [
        # Monday 17:00 in New York: Thursday 17:00.
        ("2026-12-28T22:00:00", {}, "2026-12-24T22:00:00"),
        # With Christmas: Wednesday.
        ("2026-12-28T22:00:00", {"holidays": "US"}, "2026-12-23T22:00:00"),
        # A Sunday counts from the Friday before it.
        ("2026-12-27T22:00:00", {}, "2026-12-24T22:00:00"),
        # Monday after the switch on 2026-11-01: 17:00 on both sides of it.
        ("2026-11-02T22:00:00", {}, "2026-10-29T21:00:00"),
        # What is left over is hours.
        ("2026-12-30T22:00:00", {"buffer_hours": 28}, "2026-12-29T18:00:00"),
    ],
)
def test_business_days_pass_over_weekends_and_holidays(
    deadline: str, given: dict[str, Any], start: str
) -> None:
    given = {"buffer_hours": 48, **given, "business_days": True}

    assert begin(deadline, **given) == utc(start)


def test_buffer_is_so_many_hours_whatever_the_clocks_do() -> None:
    assert begin("2026-11-02T22:00:00", buffer_hours=48) == utc("2026-10-31T22:00:00")


@pytest.mark.parametrize(
    ("category", "hours", "title"),
    [
        ("month-end-close", 48, "Month end"),
        ("quarterly-board", 120, "Q4 Board Meeting"),
        ("compliance-filing", 72, "VAT filing"),
        ("weekly-client-digest", 4, "Client X: digest"),
    ],
)
def test_built_in_category_needs_no_more_than_its_name(
    category: str, hours: int, title: str
) -> None:
    (calendar,) = fleet_of(f'{{ category = "{category}", agent = "hello" }}')

    (found,) = calendar.rules
    assert found.buffer_hours == hours
    (wanted,) = Rules(calendar, ZoneInfo("UTC")).wanted(
        Occurrence(uid="a", name=ONCE, start=ENTRY.start, end=ENTRY.end, title=title)
    )
    assert (ENTRY.start - wanted.begin_at).total_seconds() == hours * 3600


def test_built_in_buffer_and_titles_may_be_others() -> None:
    (calendar,) = fleet_of(
        '{ category = "quarterly-board", agent = "hello", title = "x",'
        " buffer_hours = 0 }"
    )

    (found,) = calendar.rules
    assert (found.title, found.buffer_hours) == ("x", 0)


def test_broken_expression_is_a_problem_of_the_fleet() -> None:
    with pytest.raises(FleetError) as refused:
        fleet_of('{ category = "a", agent = "hello", title = "/(/" }')

    assert "rules[0].title: want a regular expression" in str(refused.value)


def test_one_category_is_one_task_by_its_first_rule() -> None:
    (calendar,) = fleet_of(
        '{ category = "a", agent = "hello", buffer_hours = 1 },'
        '{ category = "a", agent = "hello", buffer_hours = 2 },'
        '{ category = "b", agent = "hello" }'
    )

    wanted = list(Rules(calendar, ZoneInfo("UTC")).wanted(ENTRY))

    assert [(w.rule.category, w.rule.buffer_hours) for w in wanted] == [
        ("a", 1),
        ("b", 0),
    ]


def fleet_of(rules: str) -> list[Calendar]:
    agent = '[agents.hello]\nrun = "agents.hello:run"\n'
    fleet = parse(f"{agent}[calendars.finance]\nrules = [{rules}]\n")
    return list(fleet.calendars.values())
