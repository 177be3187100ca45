"""Entries of Google's, to the text of a feed: what they say, and what they may not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lambdas.planner import ical
from lambdas.planner.google.entries import Entries
from lambdas.planner.ical import MOST_ENTRIES
from lambdas.planner.occurrence import Occurrence, Reading, Refused, Window
from lambdas.shared.errors import Misconfigured
from lambdas.shared.google import read_key
from lambdas.shared.secrets import parse
from tests.fakes.calendars import utc
from tests.fakes.google import CALENDAR, ROBOT, consent, service_account

WINDOW = Window(since=utc("2026-11-01T00:00:00"), until=utc("2027-02-01T00:00:00"))
START = {"dateTime": "2026-12-28T17:00:00Z"}
END = {"dateTime": "2026-12-28T18:00:00Z"}


def entries(*items: dict[str, Any]) -> Entries:
    told = tuple({"start": START, "end": END, **item} for item in items)
    return Entries(calendar_id=CALENDAR).changed(told, is_full=True)


def read(known: Entries) -> Reading:
    made = known.rendered()
    zone = ical.utc_or("America/New_York")
    return made.told(ical.expand(made.feed, WINDOW, zone))


def one(**item: Any) -> Occurrence:
    (found,) = read(entries({"id": "a", **item})).occurrences
    return found


def test_texts_come_as_they_were_written() -> None:
    text = 'Semi; comma, back\\slash "quotes" Größe 東京 \\n no line'

    found = one(summary=text, description=f"one\n{text}\r\nthree", location="A:B")

    assert found.title == text
    assert found.description == f"one\n{text}\nthree"
    assert found.location == "A:B"


@pytest.mark.parametrize(
    "end", ["\r\n", "\n", "\r", "\x0b", "\x85", "\u2028", "\r\n \r\n"]
)
def test_text_cannot_write_an_entry_of_its_own(end: str) -> None:
    forged = end.join(
        ["Lunch", "END:VEVENT", "BEGIN:VEVENT", "UID:x", "DTSTART:20261201T000000Z"]
    )

    reading = read(
        entries(
            {
                "id": f"a{forged}",
                "summary": forged,
                "location": forged,
                "attendees": [{"email": forged}],
                "recurrence": [f"RRULE:FREQ=DAILY{end}END:VEVENT"],
            }
        )
    )

    assert reading.entries == 1
    assert [o.start for o in reading.occurrences] == [utc("2026-12-28T17:00:00")]


@pytest.mark.parametrize(
    ("start", "instant"),
    [
        ({"dateTime": "2026-12-28T09:00:00-08:00"}, "2026-12-28T17:00:00"),
        ({"dateTime": "2026-12-28T17:00:00.000Z"}, "2026-12-28T17:00:00"),
        (
            {"dateTime": "2026-12-28T09:00:00", "timeZone": "Asia/Tokyo"},
            "2026-12-28T00:00:00",
        ),
        (
            {"dateTime": "2026-12-28T09:00:00+09:00", "timeZone": "Mars/Olympus"},
            "2026-12-28T00:00:00",
        ),
        ({"date": "2026-12-28"}, "2026-12-28T05:00:00"),
    ],
    ids=["offset", "fraction", "zone alone", "unknown zone", "day"],
)
def test_time_is_read_by_its_offset_or_its_zone(
    start: dict[str, str], instant: str
) -> None:
    assert one(start=start, end=start).start == utc(instant)


def test_attendees_are_known_by_their_addresses() -> None:
    told = [{"email": "ada@acme.example"}, {"displayName": "nobody"}, "odd"]

    assert one(attendees=told).attendees == ("ada@acme.example",)


def test_one_occurrence_of_somebody_else_s_series_is_read_alone() -> None:
    """Who is invited to one of them is not told of the series."""
    found = one(
        recurringEventId="series",
        iCalUID="series@google.com",
        originalStartTime={"dateTime": "2026-12-21T17:00:00Z"},
    )

    assert (found.uid, found.name) == ("series@google.com", "2026-12-21T17:00:00Z")
    assert found.start == utc("2026-12-28T17:00:00")


def test_series_of_days_has_one_of_them_moved_and_one_cancelled() -> None:
    day, next_day = {"date": "2026-12-01"}, {"date": "2026-12-02"}
    series = {"start": day, "end": next_day, "recurrence": ["RRULE:FREQ=DAILY;COUNT=4"]}
    moved = {"start": {"date": "2026-12-20"}, "end": {"date": "2026-12-21"}}

    found = read(
        entries(
            {"id": "s", **series},
            {"id": "s_2", "recurringEventId": "s", "originalStartTime": next_day}
            | moved,
            {
                "id": "s_3",
                "recurringEventId": "s",
                "originalStartTime": {"date": "2026-12-03"},
                "status": "cancelled",
            },
        )
    ).occurrences

    assert {(o.name, o.start.day, o.is_cancelled) for o in found} == {
        ("2026-12-01", 1, False),
        ("2026-12-02", 20, False),
        ("2026-12-03", 3, True),
        ("2026-12-04", 4, False),
    }


def test_deleted_series_takes_its_exceptions_along() -> None:
    known = entries(
        {"id": "s", "recurrence": ["RRULE:FREQ=DAILY"]},
        {"id": "s_2", "recurringEventId": "s", "originalStartTime": START},
    )

    after = known.changed(({"id": "s", "status": "cancelled"},), is_full=False)

    assert after.items == {}


def test_entry_that_cannot_be_read_costs_the_others_nothing() -> None:
    reading = read(
        entries(
            {"id": "a", "start": {"dateTime": "soon"}},
            {"id": "b", "start": None},
            {"id": "c", "start": {}},
            {"id": "e", "start": {"dateTime": "0001-01-01T00:00:00+09:00"}},
            {"id": "d", "recurringEventId": "s"},
            {"id": 7},
            {"id": "good", "summary": ["odd"]},
        )
    )

    assert [o.uid for o in reading.occurrences] == ["good"]
    assert len(reading.notes) == 5


def test_what_is_over_is_forgotten_and_what_may_come_back_is_not() -> None:
    past = {"dateTime": "2026-01-05T12:00:00Z"}
    known = entries(
        {"id": "over", "start": past, "end": past},
        {"id": "ahead"},
        {"id": "s", "start": past, "end": past, "recurrence": ["RRULE:FREQ=DAILY"]},
        {"id": "s_1", "recurringEventId": "s", "originalStartTime": START}
        | {"start": past, "end": past},
        {"id": "odd", "start": {}, "end": {"dateTime": "soon"}},
    )

    assert set(known.since(WINDOW.since).items) == {"ahead", "s", "s_1", "odd"}


def test_entries_are_kept_and_read_back() -> None:
    known = entries({"id": "a", "summary": "Größe"}, {"id": "b"})

    assert Entries.from_bytes(known.to_bytes()) == known
    assert (
        known.to_bytes()
        == entries({"id": "b"}, {"id": "a", "summary": "Größe"}).to_bytes()
    )


def test_too_many_entries_are_refused() -> None:
    with pytest.raises(Refused, match=f"more than {MOST_ENTRIES} entries"):
        entries(*({"id": f"e{n}"} for n in range(MOST_ENTRIES + 1)))


def test_keys_are_read_bare_and_as_stored_beside_others() -> None:
    for text in (service_account(), json.dumps({"current": service_account()})):
        key = read_key("k", parse("k", text).current)

        assert (key.kind, key.owner) == ("service_account", ROBOT)
        assert key.values["private_key"] not in repr(key)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "secret k is no key of Google's"),
        ("[" * 100_000, "secret k is no key of Google's"),
        ("[]", "secret k is no key of Google's"),
        ('{"installed": {"client_id": "x"}}', "to which nobody has consented yet"),
        ('{"client_id": "x"}', "'type' is missing"),
        ('{"type": "external_account"}', "'type' is none that is taken"),
        (consent(refresh_token=""), "'refresh_token': want text that is not empty"),
        (service_account(client_email=" "), "'client_email': want text"),
        (service_account(private_key="abc"), "'private_key': want a key in PEM"),
        (
            service_account(private_key="-----BEGIN PRIVATE KEY-----\\nabc"),
            "'private_key' has lost its line ends",
        ),
        (
            service_account(token_uri="https://evil.example/token"),
            "'token_uri': want https://oauth2.googleapis.com/token",
        ),
    ],
)
def test_what_is_no_key_is_said_without_quoting_it(text: str, why: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        read_key("k", text)

    assert why in str(refused.value)
    assert "evil" not in str(refused.value)
