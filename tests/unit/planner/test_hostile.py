"""What strangers put into calendars costs their own entry, or their own calendar."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lambdas.planner import bounded, rules
from lambdas.planner.ical import expand, utc_or
from lambdas.planner.occurrence import Reading, Window
from lambdas.shared.errors import Unavailable
from lambdas.shared.fleet import parse
from tests.fakes.calendars import FLEET, START, Office, calendar, close, utc
from tests.fakes.google import consent, service_account
from tests.fakes.google_office import GoogleOffice, planned
from tests.fakes.services import Reply

WINDOW = Window(since=utc("2026-11-01T00:00:00"), until=utc("2027-02-01T00:00:00"))


def entry(uid: str, *lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", f"UID:{uid}", *lines, "END:VEVENT"])


GOOD = entry("good", "SUMMARY:Review", "DTSTART:20261201T120000Z")


def beside_a_good_one(*lines: str, uid: str = "bad") -> Reading:
    return expand(calendar(entry(uid, *lines), GOOD), WINDOW, utc_or("UTC"))


def test_rule_that_never_comes_true_costs_only_its_own_entry() -> None:
    """Anybody may invite us: it is sought until the year 9999, for half a minute."""
    never = entry(
        "bad", "DTSTART:20260101T040000Z", "RRULE:FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30"
    )

    reading = bounded.expand(calendar(never, GOOD), WINDOW, "UTC", entry_seconds=0.2)

    assert [each.uid for each in reading.occurrences] == ["good"]
    assert reading.notes == ("bad: not read: TimeoutError: it takes longer than 0.2 s",)


def test_interval_of_nothing_is_passed_over() -> None:
    reading = beside_a_good_one(
        "DTSTART:20260101T000000Z", "RRULE:FREQ=DAILY;INTERVAL=0"
    )

    assert [each.uid for each in reading.occurrences] == ["good"]
    assert reading.notes == ("bad: recurs at an interval of nothing",)


def test_texts_of_a_series_are_bounded_together() -> None:
    names = [f"ATTENDEE:mailto:{'x' * 400}{n}@example.com" for n in range(100)]

    reading = beside_a_good_one("DTSTART:20261101T000000Z", "RRULE:FREQ=HOURLY", *names)

    assert [each.uid for each in reading.occurrences] == ["good"]
    assert "characters of text" in reading.notes[0]


def test_end_that_nobody_lives_to_see_keeps_its_deadline() -> None:
    reading = beside_a_good_one(
        "DTSTART;VALUE=DATE:20261128", "DTEND;VALUE=DATE:99991231"
    )

    assert [each.uid for each in reading.occurrences] == ["bad", "good"]
    assert reading.notes == ("bad: never ends: read as a moment",)


def test_uid_of_a_megabyte_fits_the_ledger_and_stays_the_same() -> None:
    office = Office(START)
    close(office, "u" * 1_000_000)

    office.look()
    assert office.look() == {"finance": "0 changes"}

    (task,) = office.tasks().values()
    assert len(json.dumps(dict(task.to_row()))) < 5_000
    close(office, "u" * 1_000_000 + "v")
    office.look()
    assert len(office.tasks()) == 2


def test_fault_of_ours_with_one_calendar_costs_the_others_nothing() -> None:
    office = Office(
        START,
        fleet=FLEET + FLEET[FLEET.index("[calendars") :].replace("finance", "board"),
    )
    close(office)
    read = office.planner.feeds["ical"]

    def stumbles(calendar: Any, window: Any, record: Any) -> Any:
        if calendar.name == "finance":
            raise KeyError("a secret")
        return read(calendar, window, record)

    office.planner = replace(office.planner, feeds={"ical": stumbles})

    assert office.look() == {
        "finance": "not obeyed: reading it failed: KeyError",
        "board": "1 changes",
    }


def test_country_that_nobody_knows_is_said_and_due_work_begins() -> None:
    office = Office(START)
    close(office)
    office.look()
    fleet = FLEET.replace("rules = [", 'holidays = "XX"\nrules = [')
    office.fleet = parse(fleet)
    office.planner = office.new_planner()
    office.clock.instant = utc("2026-11-27T12:00:00")

    assert office.look() == {
        "finance": "not obeyed: holidays: want a country, or a part of one, whose"
        " holidays are known, got 'XX'"
    }
    assert len(office.begun) == 1


@pytest.mark.parametrize(
    ("key", "text", "lines"),
    [
        *((k, "a" * 60, []) for k in ("title", "description", "attendee", "tagged")),
        # Each of its 90 occurrences for a moment alone.
        ("title", "a" * 19, ["RRULE:FREQ=DAILY"]),
    ],
    ids=["title", "description", "attendee", "tagged", "series"],
)
def test_expression_that_a_stranger_s_text_keeps_busy_costs_its_own_calendar(
    key: str, text: str, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may invite us: under such a title it would be at work for years."""
    monkeypatch.setattr(rules, "LONGEST_SECONDS", 0.5)
    slow = f"{{ category = 'close', agent = 'closer', {key} = '/(a+)+$/' }},"
    tables = FLEET[FLEET.index("[calendars") :].replace("finance", "board")
    office = Office(
        START, fleet=FLEET.replace("rules = [", f"rules = [\n  {slow}", 1) + tables
    )
    close(office)
    words = [f"{name}{text}!" for name in ("DESCRIPTION:", "CATEGORIES:")]
    who = f"ATTENDEE:mailto:{text}!"
    office.put("bad", f"{text}!", ":20261201T120000Z", *words, who, *lines)

    assert office.look() == {
        "finance": "not obeyed: its rules take longer than 0.5 s on its entries: write"
        " each /expression/ without a repetition inside a repetition",
        "board": "1 changes",
    }


def test_ledger_that_fails_is_not_taken_for_a_feed_that_does() -> None:
    office = Office(START)
    close(office)
    query = office.table.query

    def fails_once(*_: Any) -> Any:
        office.table.query = query
        raise Unavailable("throttled")

    office.table.query = fails_once

    with pytest.raises(Unavailable, match="throttled"):
        office.look()


def test_clock_that_ran_ahead_does_not_silence_a_calendar_for_as_long() -> None:
    office = Office(utc("2027-11-20T12:00:00"))
    office.site.status, office.site.headers = 503, {"retry-after": "3600"}
    office.look()
    office.clock.instant = START
    office.site.status = 200
    close(office)

    assert office.look() == {"finance": "1 changes"}


def answered(office: GoogleOffice, where: str, *bodies: Any) -> None:
    """Let Google answer these, one a call, and the last one for ever."""
    asked, left = office.google.exchange, list(bodies)

    def exchange(url: str, **words: Any) -> Any:
        if where not in url:
            return asked(url, **words)
        body = left.pop(0) if len(left) > 1 else left[0]
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Reply(status=200, body=text)

    office.google.exchange = exchange  # type: ignore[method-assign]
    office.planner = office.new_planner()


ITEM = {
    "id": "close",
    "summary": "Month-end close",
    "start": {"dateTime": "2026-11-28T17:00:00Z"},
    "end": {"dateTime": "2026-11-28T18:00:00Z"},
}
ODD: list[Any] = [{"a": 1}, ["x"], 5, True, "\ud800", "a\r\nb", "x" * 1_000_000]


@pytest.mark.parametrize("token", ODD, ids=lambda each: repr(each)[:12])
def test_next_page_whose_name_is_none_is_refused(token: Any) -> None:
    office = GoogleOffice(START)
    answered(office, "/events", {"items": [ITEM], "nextPageToken": token})

    assert office.look() == {"finance": "not obeyed: the name of its next page is none"}


@pytest.mark.parametrize("token", ODD, ids=lambda each: repr(each)[:12])
def test_sync_token_that_is_none_is_not_kept(token: Any) -> None:
    office = GoogleOffice(START)
    answered(office, "/events", {"items": [ITEM], "nextSyncToken": token})

    office.look()

    assert office.look() == {"finance": "0 changes"}
    assert planned(office) == 1


@pytest.mark.parametrize("key", [service_account, consent])
@pytest.mark.parametrize(
    "answer",
    [
        *(b"", b"<html>Sign in</html>", b"[]", b"null", b"5", b"[" * 100_000),
        *({}, {"access_token": ["x"]}, {"access_token": "a\r\nb: c"}),
    ],
    ids=repr,
)
def test_junk_instead_of_a_token_is_no_fault_of_the_key(answer: Any, key: Any) -> None:
    office = GoogleOffice(START)
    office.key = key()
    answered(office, "oauth2", answer)

    said = office.look()["finance"]

    assert said.startswith("not obeyed: oauth2.googleapis.com answered something else")


@pytest.mark.parametrize(
    "seconds", [10**12, 10**400, -1, 0, "3600", "soon", None, [], float("nan")], ids=str
)
def test_token_is_used_however_long_it_says_that_it_is_good(seconds: Any) -> None:
    office = GoogleOffice(START)
    close(office)
    asked = office.google.exchange

    def exchange(url: str, **words: Any) -> Any:
        reply = asked(url, **words)
        if "oauth2" not in url:
            return reply
        told = {**json.loads(reply.body), "expires_in": seconds}
        return replace(reply, body=json.dumps(told).encode())

    office.google.exchange = exchange  # type: ignore[method-assign]
    office.planner = office.new_planner()

    assert office.look() == {"finance": "1 changes"}
    assert office.look() == {"finance": "0 changes"}
