"""A calendar of Google's: what becomes of its entries, and of those that change."""

from __future__ import annotations

from typing import Any

import pytest

from lambdas.planner.record import believe
from lambdas.shared.errors import Unavailable
from tests.fakes.calendars import START, close, utc
from tests.fakes.google import CALENDAR
from tests.fakes.google_office import GoogleOffice, planned, reviews

TASK = "{}@google.com:once:month-end-close"
NEW_YORK = ";TZID=America/New_York:"


@pytest.fixture
def office() -> GoogleOffice:
    return GoogleOffice(START)


def begun(office: GoogleOffice) -> list[tuple[str, str]]:
    return [(f"{at:%m-%d %H:%M}", id_.split(":")[2]) for at, id_ in office.begun]


def test_work_begins_two_days_before_the_month_end(office: GoogleOffice) -> None:
    close(office)

    office.go(utc("2026-11-29T12:00:00"))

    assert begun(office) == [("11-26 17:00", "close@google.com")]


def test_every_page_is_read(office: GoogleOffice) -> None:
    office.google.page = 3
    reviews(office, 10)

    office.look()

    assert planned(office) == 10
    pages = [each.query.get("pageToken") for each in office.google.asked()]
    assert pages == [None, "3", "6", "9"]


def test_later_look_asks_for_what_is_new_alone(office: GoogleOffice) -> None:
    reviews(office, 5)
    office.look()
    office.put("review1", "Review", ":20261220T120000Z")
    office.google.requests.clear()

    said = office.look()

    (asked,) = office.google.requests
    assert "syncToken" in asked.query
    assert "timeMin" not in asked.query
    assert said == {"finance": "1 changes"}


def test_second_look_changes_nothing(office: GoogleOffice) -> None:
    close(office)
    office.look()
    calls = len(office.timetable.calls)

    assert office.look() == {"finance": "0 changes"}
    assert len(office.timetable.calls) == calls


def test_deleted_entry_is_cancelled(office: GoogleOffice) -> None:
    close(office)
    close(office, "other")
    office.look()
    del office.events["close"]

    office.look()

    assert office.states() == {
        TASK.format("close"): "cancelled",
        TASK.format("other"): "planned",
    }


def test_moved_and_cancelled_occurrences_of_a_series(office: GoogleOffice) -> None:
    office.put(
        *("digest", "Client digest", f"{NEW_YORK}20261124T090000"),
        "RRULE:FREQ=WEEKLY;COUNT=4",
    )
    office.look()
    moved = {"dateTime": "2026-12-01T14:00:00Z", "timeZone": "America/New_York"}
    office.google.put(
        {
            "id": "digest_20261201T140000Z",
            "iCalUID": "digest@google.com",
            "summary": "Client digest",
            "recurringEventId": "digest",
            "originalStartTime": moved,
            "start": {"dateTime": "2026-12-02T10:00:00-05:00"},
            "end": {"dateTime": "2026-12-02T11:00:00-05:00"},
        }
    )
    office.google.cancel("digest", {"dateTime": "2026-12-08T09:00:00-05:00"})

    office.go(utc("2026-12-20T00:00:00"))

    assert [at for at, _ in begun(office)] == [
        *("11-24 10:00", "12-02 11:00", "12-15 10:00")
    ]
    assert list(office.states().values()) == ["begun", "begun", "cancelled", "begun"]


def test_cancelled_occurrences_are_no_suspicious_loss(office: GoogleOffice) -> None:
    """Google says of each that it is cancelled: nothing was cut off."""
    office.put(
        *("digest", "Client digest", ":20261124T140000Z"), "RRULE:FREQ=WEEKLY;COUNT=5"
    )
    office.look()
    for day in ("20261124", "20261201", "20261208", "20261215"):
        text = f"{day[:4]}-{day[4:6]}-{day[6:]}T14:00:00Z"
        office.google.cancel("digest", {"dateTime": text})

    office.look()

    assert sorted(office.states().values()) == ["cancelled"] * 4 + ["planned"]


def test_series_split_at_this_and_all_following_begins_nothing_again(
    office: GoogleOffice,
) -> None:
    series = ("digest", "Client digest", ":20261123T140000Z")
    office.put(*series, "RRULE:FREQ=WEEKLY")
    office.go(utc("2026-11-30T12:00:00"))
    assert len(office.begun) == 2
    # The second one has begun; from it on, the series is an hour later.
    office.put(*series, "RRULE:FREQ=WEEKLY;UNTIL=20261130T135959Z")
    office.put(
        *("digest_R20261130T140000", "Client digest", ":20261130T150000Z"),
        "RRULE:FREQ=WEEKLY",
    )

    office.go(utc("2026-12-07T12:00:00"))

    assert [at for at, _ in begun(office)] == [
        *("11-23 10:00", "11-30 10:00", "12-07 11:00")
    ]


def test_days_begin_at_the_calendar_s_own_midnight(office: GoogleOffice) -> None:
    office.put("close", "Month-end close", ";VALUE=DATE:20261128")

    office.go(utc("2026-11-30T12:00:00"))

    assert begun(office) == [("11-26 05:00", "close@google.com")]


def test_series_keeps_its_local_hour_across_a_switch() -> None:
    office = GoogleOffice(utc("2026-10-20T00:00:00"))
    office.put(
        *("digest", "Client digest", ";TZID=Europe/Berlin:20261022T090000"),
        "RRULE:FREQ=WEEKLY;COUNT=2",
    )

    office.go(utc("2026-11-01T00:00:00"))

    assert [at for at, _ in begun(office)] == ["10-22 03:00", "10-29 04:00"]


def test_expired_sync_token_reads_all_anew_and_misses_nothing(
    office: GoogleOffice,
) -> None:
    reviews(office, 5)
    office.look()
    office.google.expire_sync_tokens()
    del office.events["review1"]
    office.put("review2", "Review", ":20261224T120000Z")
    office.put("late", "Review", ":20261225T120000Z")

    office.look()

    states = office.states()
    assert states["review1@google.com:once:review"] == "cancelled"
    assert list(states.values()).count("planned") == 5
    moved = office.tasks()["calendar:finance:review2@google.com:once:review"]
    assert moved.deadline == utc("2026-12-24T12:00:00")


@pytest.mark.parametrize("lost", ["kept entries", "calendar_id"])
def test_look_without_what_was_kept_reads_all_anew(
    office: GoogleOffice, lost: str
) -> None:
    reviews(office, 3)
    office.look()
    if lost == "kept entries":
        office.bodies.clear()
    else:
        there = office.google.calendars.pop(CALENDAR)
        office.google.calendars["moved@acme.example"] = there
        calendar = office.fleet.calendars["finance"]
        object.__setattr__(calendar, "calendar_id", "moved@acme.example")
    office.google.requests.clear()

    assert office.look() == {"finance": "0 changes"}
    assert "syncToken" not in office.google.asked()[0].query


def test_planner_that_ends_before_it_remembers_reads_the_same_again(
    office: GoogleOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    close(office)
    office.look()
    close(office, "other")

    def dies(*_: Any, **__: Any) -> bool:
        raise Unavailable("the ledger is down")

    with monkeypatch.context() as patched:
        patched.setattr(office.table, "update", dies)
        with pytest.raises(Unavailable):
            office.look()
    office.look()

    assert planned(office) == 2


def test_calendar_that_has_lost_most_is_not_obeyed_until_believed(
    office: GoogleOffice,
) -> None:
    reviews(office, 5)
    office.look()
    for number in range(4):
        del office.events[f"review{number}"]

    office.look()
    assert planned(office) == 5

    believe(office.table, "finance")
    office.look()
    assert planned(office) == 1


def test_entries_under_other_ids_are_taken_for_the_same(office: GoogleOffice) -> None:
    reviews(office, 5)
    office.go(utc("2026-12-01T00:00:00"))
    office.events.clear()
    reviews(office, 5, name="again")

    office.go(utc("2026-12-10T00:00:00"))

    assert len(office.begun) == 5
    assert {id_.split("@")[0][-7:] for _, id_ in office.begun} == {
        f"review{n}" for n in range(5)
    }
