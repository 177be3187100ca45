"""Feeds to occurrences: real files, and the broken and hostile ones."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from lambdas.planner import bounded
from lambdas.planner.ical import expand
from lambdas.planner.occurrence import Occurrence, Reading, Refused, Window
from tests import real_data
from tests.fakes.calendars import calendar, utc

ICAL = None if real_data.ROOT is None else real_data.ROOT / "ical"
FILES = [] if ICAL is None else sorted(ICAL.rglob("*.ics"))
# Every file in the set is small: what takes longer is a fault.
LONGEST_SECONDS = 10.0

WINDOW = Window(since=utc("2026-11-01T00:00:00"), until=utc("2027-02-01T00:00:00"))


def expected() -> dict[str, dict[str, Any]]:
    assert ICAL is not None
    text = (ICAL / "expected_occurrences.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def window_of(told: dict[str, Any]) -> Window:
    since = told.get("window_from", "2020-01-01")
    until = told.get("window_to", "2021-02-04")
    return Window(since=utc(f"{since}T00:00:00"), until=utc(f"{until}T00:00:00"))


@pytest.mark.real_data
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_gives_occurrences_or_a_named_refusal(path: Path) -> None:
    assert ICAL is not None
    real_data.used("calendars")
    told = expected().get(str(path.relative_to(ICAL)), {})
    begun = time.monotonic()
    reading: Reading | None = None
    why = ""

    try:
        reading = expand(path.read_bytes(), window_of(told), UTC)
    except Refused as error:
        why = str(error)

    assert time.monotonic() - begun < LONGEST_SECONDS
    if told.get("second_library") == "agrees":
        assert reading is not None, why
        assert said(reading) == wanted(told)
    else:
        assert reading is not None or why


def said(reading: Reading) -> set[tuple[Any, ...]]:
    return {
        (uid_of(o), o.start, o.end, o.title[:80], o.is_all_day)
        for o in reading.occurrences
    }


def uid_of(occurrence: Occurrence) -> str:
    # An entry without one gets one of ours.
    return "" if occurrence.uid.startswith("no-uid-") else occurrence.uid


def wanted(told: dict[str, Any]) -> set[tuple[Any, ...]]:
    assert told["count"] == len(told["occurrences"])
    return {
        (o["uid"], instant(o["start"]), instant(o["end"]), o["summary"], o["all_day"])
        for o in told["occurrences"]
    }


def instant(text: str) -> datetime:
    when = datetime.fromisoformat(text)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def event(*lines: str, uid: str = "a") -> str:
    return "\r\n".join(["BEGIN:VEVENT", f"UID:{uid}", *lines, "END:VEVENT"])


def starts(*lines: str, zone: str = "UTC") -> list[datetime]:
    reading = expand(calendar(event(*lines)), WINDOW, ZoneInfo(zone))
    return [o.start for o in reading.occurrences]


@pytest.mark.parametrize(
    ("line", "start"),
    [
        ("DTSTART;TZID=Pacific Standard Time:20261228T090000", "2026-12-28T17:00:00"),
        (
            "DTSTART;TZID=/freeassociation.sourceforge.net/Tzfile/Europe/Berlin"
            ":20261228T090000",
            "2026-12-28T08:00:00",
        ),
        ("DTSTART;TZID=Mars/Olympus:20261228T090000", "2026-12-28T14:00:00"),
        ("DTSTART:20261228T090000", "2026-12-28T14:00:00"),
        ("DTSTART;VALUE=DATE:20261228", "2026-12-28T05:00:00"),
        ("DTSTART:20261228T090000Z", "2026-12-28T09:00:00"),
    ],
    ids=["windows", "path", "unknown", "floating", "all day", "utc"],
)
def test_zone_is_found_or_is_the_calendar_s_own(line: str, start: str) -> None:
    assert starts(line, zone="America/New_York") == [utc(start)]


def test_day_with_a_zone_beside_it_is_a_day() -> None:
    tokyo = "TZID=Asia/Tokyo;VALUE=DATE"
    feed = calendar(
        event(
            f"DTSTART;{tokyo}:20261201",
            f"DTEND;{tokyo}:20261202",
            "RRULE:FREQ=DAILY;COUNT=4",
            f"EXDATE;{tokyo}:20261202",
        ),
        event(f"RECURRENCE-ID;{tokyo}:20261203", f"DTSTART;{tokyo}:20261210"),
    )

    found = expand(feed, WINDOW, ZoneInfo("Asia/Tokyo")).occurrences

    assert [(o.name, o.is_all_day, o.start) for o in found] == [
        ("2026-12-01", True, utc("2026-11-30T15:00:00")),
        ("2026-12-04", True, utc("2026-12-03T15:00:00")),
        ("2026-12-03", True, utc("2026-12-09T15:00:00")),
    ]


def test_series_keeps_its_local_hour_across_a_switch() -> None:
    found = starts("DTSTART;TZID=Europe/Berlin:20261018T090000", "RRULE:FREQ=WEEKLY")

    assert found[0].hour == 8
    assert starts("DTSTART;TZID=Europe/Berlin:20270320T090000") == []


def test_changed_removed_and_added_occurrences() -> None:
    feed = calendar(
        event(
            "DTSTART:20261102T090000Z",
            "RRULE:FREQ=WEEKLY;COUNT=4",
            "EXDATE:20261109T090000Z",
            "RDATE:20261111T090000Z",
        ),
        event("RECURRENCE-ID:20261116T090000Z", "DTSTART:20261117T120000Z"),
    )

    found = expand(feed, WINDOW, UTC).occurrences

    assert [(o.name, o.start.day) for o in found] == [
        ("2026-11-02T09:00:00Z", 2),
        ("2026-11-11T09:00:00Z", 11),
        ("2026-11-16T09:00:00Z", 17),
        ("2026-11-23T09:00:00Z", 23),
    ]


def test_change_of_this_and_all_future_ones() -> None:
    feed = calendar(
        event("DTSTART:20261102T090000Z", "RRULE:FREQ=WEEKLY;COUNT=4"),
        event(
            "RECURRENCE-ID;RANGE=THISANDFUTURE:20261116T090000Z",
            "DTSTART:20261116T150000Z",
        ),
    )

    found = expand(feed, WINDOW, UTC).occurrences

    assert [o.start.hour for o in found] == [9, 9, 15, 15]
    assert [o.name for o in found] == [
        f"2026-11-{day}T09:00:00Z" for day in ("02", "09", "16", "23")
    ]


@pytest.mark.parametrize(
    ("line", "end"),
    [
        ("DTEND:20261228T080000Z", "2026-12-28T09:00:00"),
        ("DURATION:-PT1H", "2026-12-28T09:00:00"),
        ("DURATION:PT0S", "2026-12-28T09:00:00"),
        ("DURATION:PT1H", "2026-12-28T10:00:00"),
    ],
)
def test_end_before_the_start_is_a_moment(line: str, end: str) -> None:
    reading = expand(calendar(event("DTSTART:20261228T090000Z", line)), WINDOW, UTC)

    (found,) = reading.occurrences
    assert (found.start, found.end) == (utc("2026-12-28T09:00:00"), utc(end))


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        (["DTSTART:20261201T000000Z", "RRULE:FREQ=SECONDLY"], "more often"),
        (["DTSTART:20261201T000000Z", "RRULE:FREQ=MINUTELY"], "more often"),
        (["DTSTART:19700101T000000Z", "RRULE:FREQ=HOURLY"], "ten years"),
        (["DTSTART:99999999"], "not read"),
        (["SUMMARY:no start"], "no DTSTART"),
        (["DTSTART:20261201T000000Z", "RRULE:FREQ=NEVER"], "not read"),
        (["DTSTART:20261201T000000Z", "DURATION:P99999999999D"], "not read"),
    ],
)
def test_broken_entry_is_noted_and_costs_the_others_nothing(
    lines: list[str], note: str
) -> None:
    good = event("DTSTART:20261228T090000Z", uid="good")

    reading = expand(calendar(event(*lines, uid="bad"), good), WINDOW, UTC)

    assert [o.uid for o in reading.occurrences] == ["good"]
    assert any(each.startswith("bad: ") and note in each for each in reading.notes)


def test_count_of_a_billion_is_counted_only_as_far_as_the_window() -> None:
    found = starts("DTSTART:20261101T000000Z", "RRULE:FREQ=DAILY;COUNT=1000000000")

    assert len(found) == 92


def test_two_entries_under_one_uid_are_two_and_noted() -> None:
    first = event("DTSTART:20261228T090000Z", "SUMMARY:One")
    second = event("DTSTART:20261229T090000Z", "SUMMARY:Two")

    reading = expand(calendar(first, second), WINDOW, UTC)

    assert len({o.name for o in reading.occurrences}) == 2
    assert "share this UID" in reading.notes[0]


def test_folded_and_long_text_is_read() -> None:
    title = "Monatsabschluß " + "ü" * 100
    raw = title.encode()
    folded = b"\r\n ".join(raw[n : n + 40] for n in range(0, len(raw), 40))
    feed = calendar("@@").replace(
        b"@@",
        b"BEGIN:VEVENT\r\nUID:a\r\nDTSTART:20261228T090000Z\r\nSUMMARY:"
        + folded
        + b"\r\nEND:VEVENT",
    )

    (found,) = expand(feed, WINDOW, UTC).occurrences

    assert found.title == title


@pytest.mark.parametrize(
    ("feed", "why"),
    [
        (b"<html><body>Sign in</body></html>", "a page"),
        (b"", "not a calendar"),
        (b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:a", "cut off"),
        (calendar(*["BEGIN:VEVENT\r\nEND:VEVENT"] * 20_001), "more than 20000 entries"),
        (b"BEGIN:VCALENDAR\r\n" + b"x" * 50_000_000, "more than 10000000"),
    ],
    ids=["html", "empty", "cut off", "many", "50 MB"],
)
def test_file_that_is_no_calendar_is_refused_by_name(feed: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        expand(feed, WINDOW, UTC)


def test_process_of_its_own_gives_the_same() -> None:
    feed = calendar(event("DTSTART:20261228T090000", "CATEGORIES:a,b", "SUMMARY:ü"))

    inside = expand(feed, WINDOW, ZoneInfo("Europe/Berlin"))

    assert bounded.expand(feed, WINDOW, "Europe/Berlin") == inside


def test_feed_that_takes_too_long_is_ended_in_time_and_refused() -> None:
    """The library counts the hours until the year 9999."""
    never = "RRULE:FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30"
    feed = calendar(event("DTSTART:20260101T000000Z", never))

    with pytest.raises(Refused, match="longer than 1 s"):
        bounded.expand(feed, WINDOW, "UTC", seconds=1, entry_seconds=9)


def test_refusal_comes_out_of_the_process_as_it_is() -> None:
    with pytest.raises(Refused, match="it is a page"):
        bounded.expand(b"<html>", WINDOW, "UTC")
