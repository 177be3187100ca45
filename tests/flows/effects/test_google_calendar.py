"""What is particular to entries in a calendar of Google's."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from agents.effects import google_calendar
from lambdas.shared.errors import GiveUp, Misconfigured, OutcomeUnknown, RetryLater
from lambdas.shared.google import read_key
from local import up
from tests.fakes.google import CALENDAR, ROBOT, consent, error, oauth_error
from tests.fakes.services import CUT_AFTER_ACTING, Fault
from tests.fakes.world import OPERATION, Attempt, World

DAY = {"date": "2026-12-28"}
ENTRY = {"summary": "Close", "start": DAY, "end": DAY}
SECRET = "bellhop/google-calendar"
OTHER = "e" * 32


def entry(world: World, name: str) -> dict[str, Any]:
    return world.google.calendars[CALENDAR].events[name]


def create(run: Attempt, **words: Any) -> Any:
    return run.send(google_calendar.create, CALENDAR, ENTRY, **words)


def update(run: Attempt, changes: dict[str, Any], **words: Any) -> Any:
    return run.send(google_calendar.update, CALENDAR, "board", changes, **words)


def test_operation_id_is_the_entry_s_own_id(world: World, run: Attempt) -> None:
    made = create(run)

    assert made == {"id": OPERATION, "url": entry(world, OPERATION)["htmlLink"]}
    assert entry(world, OPERATION)["summary"] == "Close"


def test_second_entry_under_one_id_is_refused_and_the_first_is_told(
    world: World, run: Attempt
) -> None:
    first = create(run)

    assert create(run) == first
    assert world.google.written == [OPERATION]


def test_entry_that_somebody_has_deleted_since_is_not_made_again(
    world: World, run: Attempt
) -> None:
    create(run)
    world.google.delete(OPERATION)

    assert create(run)["id"] == OPERATION
    assert entry(world, OPERATION)["status"] == "cancelled"


def test_guests_are_written_to_only_where_it_is_asked_for(
    world: World, run: Attempt
) -> None:
    create(run)
    update(run, {"summary": "Moved"}, notify="all")

    assert [each.query["sendUpdates"] for each in world.requests] == ["none", "all"]


def test_change_leaves_the_other_fields(world: World, run: Attempt) -> None:
    update(run, {"location": "Room 7"})

    assert entry(world, "board")["summary"] == "Board"
    assert entry(world, "board")["location"] == "Room 7"


def test_what_somebody_wrote_after_a_lost_answer_stays(
    world: World, run: Attempt
) -> None:
    world.faults.append(CUT_AFTER_ACTING)
    change = (google_calendar.update, CALENDAR, "board", {"location": "Room 7"})
    with pytest.raises(OutcomeUnknown):
        run.effect(*change)
    board = entry(world, "board")
    world.google.put({**board, "location": "Room 8"})

    run.effect(*change)

    assert entry(world, "board")["location"] == "Room 8"


def test_later_change_hides_no_earlier_one(world: World, run: Attempt) -> None:
    update(run, {"location": "Room 7"})
    world.google.calendars[CALENDAR].events["board"]["extendedProperties"][
        "private"
    ] |= {f"bellhop_{OTHER[:12]}": f"bellhop:{OTHER}"}

    run.send_again(google_calendar.update, CALENDAR, "board", {"location": "Room 7"})

    assert world.google.written == ["board"]


def test_change_of_another_operation_is_not_taken_for_ours(
    world: World, run: Attempt
) -> None:
    private = {f"bellhop_{OTHER[:12]}": f"bellhop:{OTHER}"}
    board = entry(world, "board")
    world.google.put({**board, "extendedProperties": {"private": private}})

    run.send_again(google_calendar.update, CALENDAR, "board", {"location": "Room 7"})

    assert entry(world, "board")["location"] == "Room 7"


def test_entry_that_was_changed_since_it_was_read_is_left_alone(
    world: World, run: Attempt
) -> None:
    read = entry(world, "board")["etag"]
    world.google.put({**entry(world, "board"), "summary": "Board, moved"})

    with pytest.raises(GiveUp, match="412: Precondition Failed"):
        update(run, {"summary": "Board"}, etag=read)

    assert update(run, {"location": "x"}, etag=entry(world, "board")["etag"])


@pytest.mark.parametrize("reason", ["rateLimitExceeded", "userRateLimitExceeded"])
@pytest.mark.parametrize(("headers", "seconds"), [({"retry_after": "7"}, 7), ({}, 60)])
def test_rate_limit_is_no_refusal(
    reason: str, headers: dict[str, str], seconds: int, world: World, run: Attempt
) -> None:
    reply = error(403, reason, "Rate Limit Exceeded", **headers)
    world.faults.append(Fault(acts=False, reply=reply))

    with pytest.raises(RetryLater) as raised:
        create(run)

    assert raised.value.after == timedelta(seconds=seconds)


def test_calendar_that_is_not_shared_gives_up(world: World, run: Attempt) -> None:
    world.google.shared_with.remove(ROBOT)

    with pytest.raises(GiveUp, match="403: Forbidden"):
        create(run)


@pytest.mark.parametrize("send", [create, lambda run: update(run, {"location": "x"})])
def test_token_that_was_revoked_early_is_replaced(
    send: Any, world: World, run: Attempt
) -> None:
    update(run, {"location": "y"})
    world.google.revoke_access_tokens()

    send(run)

    assert len(world.google.written) == 2


def test_consent_of_a_person_makes_entries(world: World, run: Attempt) -> None:
    run.secrets[SECRET] = consent()

    assert create(run)["id"] == OPERATION


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        (consent(refresh_token="old"), "expired or was revoked: consent again"),
        ("made-up", "is no key of Google's"),
    ],
)
def test_key_that_is_refused_is_the_operator_s_affair(
    secret: str, why: str, world: World, run: Attempt
) -> None:
    run.secrets[SECRET] = secret

    with pytest.raises(Misconfigured, match=why):
        create(run)

    assert world.requests == []


def test_local_stack_has_a_key_of_google_s_form() -> None:
    key = read_key(google_calendar.SECRET, up._CONSENT)

    assert up._GOOGLE == google_calendar.SECRET
    assert key.kind == "authorized_user"


def test_token_endpoint_that_is_down_is_tried_later(world: World, run: Attempt) -> None:
    reply = oauth_error("temporarily_unavailable", "", 503)
    world.google.token_troubles.append(reply)

    with pytest.raises(RetryLater, match="answered 503"):
        create(run)

    assert create(run)["id"] == OPERATION


def test_key_acts_for_a_person_where_the_domain_allows_it(
    world: World, run: Attempt
) -> None:
    world.google.delegated.add("finance@acme.example")

    assert create(run, act_as="finance@acme.example")["id"] == OPERATION

    with pytest.raises(Misconfigured, match="must allow its client id the scope"):
        create(run, act_as="ceo@acme.example")
