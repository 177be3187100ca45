"""What Google answers: through trouble and refusals, the planner ends in the plan."""

from __future__ import annotations

import time
from typing import Any

import pytest

from lambdas.planner.google import api
from lambdas.planner.google.api import MOST_PAGES
from tests.fakes.calendars import START, close, utc
from tests.fakes.google import CALENDAR, ROBOT, FakeGoogle, consent, error, oauth_error
from tests.fakes.google_office import GoogleOffice, planned, reviews
from tests.fakes.services import Reply


@pytest.fixture
def office() -> GoogleOffice:
    return GoogleOffice(START)


TOO_FAST = error(403, "rateLimitExceeded", "Rate Limit Exceeded")
QUOTA = error(403, "userRateLimitExceeded", "User Rate Limit Exceeded")
BUSY = error(429, "rateLimitExceeded", "Too many requests", retry_after="3")
DOWN = error(503, "backendError", "Backend Error")
PAGE = Reply(status=502, body=b"<html>Bad gateway</html>")


@pytest.mark.parametrize(
    ("troubles", "pauses"),
    [
        ([TOO_FAST, QUOTA], [0.5, 1.0]),
        ([BUSY], [3.0]),
        ([DOWN, PAGE, DOWN], [0.5, 1.0, 2.0]),
    ],
    ids=["rate limits", "retry-after", "5xx"],
)
def test_trouble_that_passes_is_waited_for(
    office: GoogleOffice, troubles: list[Reply], pauses: list[float]
) -> None:
    close(office)
    office.google.troubles.extend(troubles)

    office.look()

    assert planned(office) == 1
    assert office.pauses == pauses


def test_trouble_between_two_pages_costs_no_entry(office: GoogleOffice) -> None:
    office.google.page = 2
    reviews(office, 6)
    office.look()
    reviews(office, 9, name="more")
    asked = office.google.exchange

    def troubled(url: str, **words: Any) -> Any:
        if "pageToken=4" in url and not office.pauses:
            return DOWN
        return asked(url, **words)

    office.google.exchange = troubled  # type: ignore[method-assign]
    office.planner = office.new_planner()
    office.look()

    assert office.pauses == [0.5]
    assert planned(office) == 15


def test_google_that_stays_down_cancels_nothing(office: GoogleOffice) -> None:
    close(office)
    office.look()
    office.google.troubles.extend([DOWN] * 4)

    assert office.look() == {
        "finance": "not obeyed: Google answered 503 (backendError)"
    }
    assert planned(office) == 1


def test_google_that_asks_for_an_hour_is_left_alone_for_it(
    office: GoogleOffice,
) -> None:
    close(office)
    office.google.troubles.append(
        error(403, "quotaExceeded", "Quota", retry_after="3600")
    )
    office.look()
    office.google.requests.clear()

    said = office.look()
    assert "asked not to be asked before 2026-11-20T13:00:00Z" in said["finance"]
    assert office.google.requests == []

    office.clock.instant = utc("2026-11-20T13:00:01")
    office.look()
    assert planned(office) == 1


def test_revoked_access_token_is_replaced(office: GoogleOffice) -> None:
    close(office)
    office.look()
    office.google.revoke_access_tokens()
    close(office, "other")

    office.look()

    assert planned(office) == 2


def lacks(google: FakeGoogle, what: str) -> None:
    match what:
        case "sharing":
            google.shared_with.clear()
        case "calendar":
            google.calendars.clear()
        case "details":
            google.busy_only = True
        case "account":
            google.accounts.clear()


@pytest.mark.parametrize(
    ("what", "todo"),
    [
        ("sharing", f"(forbidden): share the calendar '{CALENDAR}' with {ROBOT}"),
        ("calendar", f"there is no calendar '{CALENDAR}', or it is not shared with"),
        ("details", f"{ROBOT} may see only when somebody is busy"),
        ("account", "(invalid_grant: Invalid grant: account not found): the key was"),
    ],
)
def test_refusal_says_who_must_act_and_is_not_repeated(
    office: GoogleOffice, what: str, todo: str
) -> None:
    close(office)
    office.look()
    office.planner = office.new_planner()
    lacks(office.google, what)
    office.google.requests.clear()

    said = office.look()["finance"]

    assert todo in said
    assert planned(office) == 1
    assert office.pauses == []
    assert len(office.google.requests) <= 2


@pytest.mark.parametrize(
    ("reply", "todo"),
    [
        (error(403, "accessNotConfigured", "x"), "enable the Google Calendar API"),
        (error(403, "insufficientPermissions", "x"), "lacks the scope"),
        (error(401, "authError", "x"), "a new token is refused, too: make a new key"),
    ],
)
def test_refusal_of_the_api_says_who_must_act(
    office: GoogleOffice, reply: Reply, todo: str
) -> None:
    office.google.troubles.extend([reply] * 2)

    assert todo in office.look()["finance"]


def test_consent_of_a_person_reads_the_calendar(office: GoogleOffice) -> None:
    office.key = consent()
    close(office)

    office.look()

    assert planned(office) == 1


@pytest.mark.parametrize(
    ("key", "todo"),
    [
        (consent(refresh_token="old"), "has expired or was revoked: consent again"),
        (consent(client_secret="other"), "make a new refresh token"),
        ("webcal://feeds.example/a.ics", "is no key of Google's"),
    ],
    ids=["revoked", "client", "no key"],
)
def test_key_that_is_refused_says_who_must_act(
    office: GoogleOffice, key: str, todo: str
) -> None:
    office.key = key

    said = office.look()["finance"]

    assert todo in said
    assert "old" not in said
    assert "a.ics" not in said


def test_only_an_account_of_a_service_may_act_for_others(office: GoogleOffice) -> None:
    office.key = consent()
    calendar = office.fleet.calendars["finance"]
    object.__setattr__(calendar, "act_as", "ceo@acme.example")

    assert "only a service account's key may act" in office.look()["finance"]


def test_key_may_act_for_a_person_where_the_domain_allows_it(
    office: GoogleOffice,
) -> None:
    close(office)
    calendar = office.fleet.calendars["finance"]
    object.__setattr__(calendar, "act_as", "finance@acme.example")

    assert "an administrator of the domain must allow" in office.look()["finance"]

    office.google.delegated.add("finance@acme.example")
    office.look()
    assert planned(office) == 1


def test_token_endpoint_that_is_down_for_a_moment_is_waited_for(
    office: GoogleOffice,
) -> None:
    close(office)
    office.google.token_troubles.extend([DOWN, oauth_error("server_error", "", 500)])

    office.look()

    assert planned(office) == 1
    assert office.pauses == [0.5, 1.0]


def test_pages_without_end_are_not_followed(office: GoogleOffice) -> None:
    office.google.page = 1
    day = {"date": "2026-12-01"}
    for number in range(MOST_PAGES + 1):
        office.google.put({"id": f"lunch{number}", "start": day, "end": day})

    assert "more than 60 pages" in office.look()["finance"]
    assert len(office.google.asked()) == MOST_PAGES


def test_pages_that_drip_are_given_up_in_time(
    office: GoogleOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "LONGEST_SECONDS", 0.2)
    office.google.page = 1
    reviews(office, 20)
    asked = office.google.exchange

    def slow(url: str, **words: Any) -> Any:
        time.sleep(0.05)
        return asked(url, **words)

    office.google.exchange = slow  # type: ignore[method-assign]
    office.planner = office.new_planner()

    assert "longer than 0.2 s" in office.look()["finance"]
    assert len(office.google.asked()) < 10


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>Sign in</html>", "something else than a list of entries"),
        (b"[]", "something else than a list of entries"),
        (b'{"items": {}}', "something else than a list of entries"),
        (b'{"nextPageToken": "a"}', "its pages lead in a circle"),
        (b"[" * 100_000, "something else than a list of entries"),
        (b'{"items": []}' + b" " * 20_000_000, "answered more than 20000000 bytes"),
    ],
    ids=["page", "list", "items", "circle", "deep", "large"],
)
def test_answer_that_is_no_list_of_entries_is_not_obeyed(
    office: GoogleOffice, body: bytes, why: str
) -> None:
    close(office)
    office.look()
    office.google.troubles.extend([Reply(body=body)] * 2)

    assert why in office.look()["finance"]
    assert planned(office) == 1
    assert office.pauses == []
