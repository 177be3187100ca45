"""When a schedule is due: held against a minute walk, and against another library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from lambdas.shared.cron import AtTime, CronTimes, RateTimes, parse
from tests.unit.cron import expressions, walk

FIRST_YEAR, YEARS = 2025, 5
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "America/Santiago",
    "America/Havana",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Pacific/Chatham",
    "UTC",
]
AROUND = timedelta(hours=48)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def times(expression: str, zone: str = "UTC") -> CronTimes:
    return CronTimes(parse(expression), ZoneInfo(zone))


def texts(dues: Iterable[datetime], count: int) -> list[str]:
    return [f"{due:%Y-%m-%dT%H:%M}" for due in islice(dues, count)]


def forward(ours: CronTimes, start: datetime, end: datetime) -> list[datetime]:
    coming = ours.after(start - timedelta(microseconds=1))
    return list(takewhile(lambda due: due < end, coming))


def backward(ours: CronTimes, start: datetime, end: datetime) -> list[datetime]:
    past = ours.until(end - timedelta(microseconds=1))
    return list(takewhile(lambda due: due >= start, past))[::-1]


def windows(zone: str) -> Iterator[tuple[datetime, datetime]]:
    """Yield 48 h either side of every transition; of New Year where there is none."""
    found = walk.transitions(zone, FIRST_YEAR, YEARS)
    for at in found or [datetime(2028, 2, 29, tzinfo=UTC)]:
        yield at - AROUND, at + AROUND


@pytest.mark.parametrize("zone", ZONES)
def test_fires_are_those_of_a_walk_through_every_minute(
    zone: str, full_size: bool
) -> None:
    chosen = expressions.many(300 if full_size else 40)
    spans = list(windows(zone))
    if not full_size:
        spans = spans[:4]
    compared = 0

    for start, end in spans:
        minutes = walk.minutes_of(zone, start, end)
        for expression in chosen:
            walked = walk.fires(expression, minutes)
            where = f"{expression} in {zone} from {start}"
            assert forward(times(expression, zone), start, end) == walked, where
            assert backward(times(expression, zone), start, end) == walked, where
            compared += len(walked)

    print(
        f"{zone}: {len(chosen)} expressions, {len(spans)} transitions, {compared} fires"
    )
    assert compared > 1000


def test_fires_in_a_second_pass_of_an_hour_are_not_repeated() -> None:
    """00:30 UTC is the second 02:30 of that night in Berlin."""
    nightly = times("30 2 * * ? *", "Europe/Berlin")

    assert texts(nightly.after(utc("2026-10-24T12:00")), 2) == [
        "2026-10-25T00:30",
        "2026-10-26T01:30",
    ]
    assert texts(nightly.after(utc("2026-10-25T01:10")), 1) == ["2026-10-26T01:30"]
    assert texts(nightly.until(utc("2026-10-25T01:30")), 1) == ["2026-10-25T00:30"]


@pytest.mark.parametrize(
    ("expression", "dues"),
    [
        ("0 0 L * ? *", ["2027-01-31", "2027-02-28", "2027-03-31"]),
        ("0 0 LW * ? *", ["2027-01-29", "2027-02-26", "2027-03-31"]),
        ("0 0 1W * ? *", ["2027-01-01", "2027-02-01", "2027-03-01"]),
        ("0 0 1W 5 ? *", ["2027-05-03", "2028-05-01", "2029-05-01"]),
        ("0 0 31W * ? *", ["2027-01-29", "2027-03-31", "2027-05-31"]),
        ("0 0 ? * MON#5 *", ["2027-03-29", "2027-05-31", "2027-08-30"]),
        ("0 0 ? * 6L *", ["2027-01-29", "2027-02-26", "2027-03-26"]),
        ("0 0 29 FEB ? *", ["2028-02-29", "2032-02-29", "2036-02-29"]),
        ("0 0 31 * ? 2027", ["2027-01-31", "2027-03-31", "2027-05-31"]),
    ],
)
def test_days_are_those_of_the_grammar(expression: str, dues: list[str]) -> None:
    found = times(expression).after(utc("2026-12-31T12:00"))

    assert [f"{due:%Y-%m-%d}" for due in islice(found, 3)] == dues


def test_fires_are_those_of_another_library_where_the_grammars_overlap(
    full_size: bool,
) -> None:
    """cronsim has no years, no 15W, no ``?``; its weekdays begin with 0, in UTC."""
    shared = [each for each in expressions.many(600) if comparable(each)]
    chosen = shared if full_size else shared[:60]
    start = datetime(2026, 11, 29, tzinfo=UTC)

    for expression in chosen:
        ours = list(islice(times(expression).after(start), 50))
        theirs = list(islice(CronSim(translated(expression), start), 50))
        # EventBridge's years end with 2199.
        assert ours == [due for due in theirs if due.year < 2200], expression

    print(f"{len(chosen)} expressions as cronsim reads them, 50 fires each")
    assert len(chosen) >= 50


def comparable(expression: str) -> bool:
    _, _, day, _, weekday, year = expression.split()
    has_nearest = day.endswith("W") and day != "LW"
    return year == "*" and not has_nearest and weekday != "L" and "/" not in weekday


def translated(expression: str) -> str:
    minute, hour, day, month, weekday, _ = expression.split()
    return " ".join([minute, hour, day.replace("?", "*"), month, _weekday(weekday)])


def _weekday(text: str) -> str:
    text = text.replace("?", "*")
    names = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
    head, hash_, nth = text.partition("#")
    for number, name in enumerate(names):
        head = head.replace(name, str(number + 1))
    shifted = "".join(str(int(c) - 1) if c.isdigit() else c for c in head)
    return shifted + hash_ + nth


def test_a_rate_counts_from_its_anchor_and_ignores_the_clock_on_the_wall() -> None:
    daily = RateTimes(timedelta(days=1), utc("2026-10-24T02:30:17"))

    assert texts(daily.after(utc("2026-10-24T02:30:17")), 2) == [
        "2026-10-25T02:30",
        "2026-10-26T02:30",
    ]
    assert texts(daily.after(utc("2026-10-22T02:30:16")), 1) == ["2026-10-22T02:30"]
    assert texts(daily.until(utc("2026-10-26T02:30:16")), 2) == [
        "2026-10-25T02:30",
        "2026-10-24T02:30",
    ]


def test_a_single_time_is_due_once() -> None:
    once = AtTime(utc("2026-12-24T07:00"))

    assert texts(once.after(utc("2026-12-24T06:59")), 2) == ["2026-12-24T07:00"]
    assert texts(once.after(utc("2026-12-24T07:00")), 2) == []
    assert texts(once.until(utc("2026-12-24T07:00")), 2) == ["2026-12-24T07:00"]
