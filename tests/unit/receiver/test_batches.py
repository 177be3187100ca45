"""Several events in one request, of every sender that makes such requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.signers import Signer
from lambdas.shared.errors import Unavailable
from tests.unit.receiver import proving, signed
from tests.unit.receiver.conftest import Told
from tests.unit.receiver.door import Call, Door, Heard


def events_of(name: str) -> int:
    door = signed.door(name)
    door.knock(signed.call(name))
    return len(door.accepted)


BATCHES = [name for name in signed.NAMES if proving.record(name).split]
SEVERAL = [name for name in BATCHES if events_of(name) > 1]
# Bodies that are a list of events, so that one can be put into another place.
LISTS = ("hubspot", "sendgrid")


def knock(door: Door, name: str, events: list[Any]) -> Heard:
    draft = signed.draft(name, json.dumps(events).encode())
    return door.knock(signed.arriving(Signer(name).sign(draft)))


def sample(name: str) -> list[Any]:
    events: list[Any] = json.loads(signed.call(name).body)
    return events


def test_senders_of_batches_are_among_them() -> None:
    assert {"hubspot", "sendgrid"} <= set(SEVERAL)


@pytest.mark.parametrize("name", SEVERAL)
def test_failure_half_way_is_completed_by_the_repeat(name: str) -> None:
    call: Call = signed.call(name)
    count = events_of(name)
    for failing in range(count):
        door = signed.door(name)
        door.ledger.failures[failing] = Unavailable("throttled")

        first, again = door.knock(call), door.knock(call)

        assert first.status == 503
        assert again.status // 100 == 2
        assert len(door.accepted) == count
        assert door.ledger.calls == failing + 1 + count


@pytest.mark.parametrize("name", LISTS)
def test_known_event_among_new_ones_is_a_duplicate_alone(name: str) -> None:
    door = signed.door(name)
    one, two = sample(name)
    knock(door, name, [two])

    heard = knock(door, name, [one, two])

    assert heard.json["deduplicated"] is False
    assert len(heard.json["event_ids"]) == 2
    assert len(door.accepted) == 2
    assert knock(door, name, [two, one]).json["deduplicated"] is True


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("bad", [None, 7, [], {}, "x", {"event": [], "eventId": {}}])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_bad_event_harms_no_neighbour(name: str, bad: Any, place: int) -> None:
    door = signed.door(name)
    events = sample(name)
    events.insert(place, bad)

    heard = knock(door, name, events)

    assert heard.status == 200
    assert len(door.accepted) == 2


@pytest.mark.parametrize("name", LISTS)
def test_event_twice_in_a_request_is_one(name: str) -> None:
    door = signed.door(name)
    one, _ = sample(name)

    heard = knock(door, name, [one] * 3)

    assert heard.status == 200
    assert len(door.accepted) == 1


def test_hubspot_events_of_one_id_are_told_apart() -> None:
    """HubSpot says itself that eventId alone is not unique."""
    door = signed.door("hubspot")
    one, _ = sample("hubspot")

    knock(door, "hubspot", [one, {**one, "objectId": 2}, {**one, "attemptNumber": 1}])

    assert len(door.accepted) == 2


@pytest.mark.parametrize("name", LISTS)
def test_junk_of_a_batch_is_told_once_however_much(name: str, told: Told) -> None:
    heard = knock(signed.door(name), name, [*sample(name), *[0] * 5000])

    lines = told()
    assert heard.status == 200
    assert [n["events"] for n in lines if "events" in n] == [5000]
    assert [n["EventsRefused"] for n in lines if "EventsRefused" in n] == [[5000.0]]


def enveloped(name: str, events: list[Any]) -> Call:
    """Return a signed request with ``events`` in it, in the sender's own wrapping."""
    wrapped: dict[str, Any] = {
        "adyen": {
            "notificationItems": [
                {"NotificationRequestItem": {"additionalData": {}}} for _ in events
            ]
        },
        "hubspot": events,
        "line": {"events": events},
        "meta": {"object": "page", "entry": [{"id": "1", "changes": events}]},
        "microsoft-graph": {"value": events},
        "okta": {"data": {"events": events}},
        "sendgrid": events,
    }
    draft = signed.draft(name, json.dumps(wrapped[name]).encode())
    return signed.arriving(Signer(name).sign(draft))


@pytest.mark.parametrize("name", BATCHES)
def test_more_events_than_anybody_sends_are_refused(name: str, told: Told) -> None:
    """A holder of the secret is no reason to work for minutes."""
    junk = (
        {"clientState": signed.secret(name)} if name == "microsoft-graph" else {"a": 0}
    )
    door = signed.door(name)

    heard = door.knock(enveloped(name, [junk] * 10_001))

    assert (heard.status, heard.error) == (413, "body_too_large")
    assert door.accepted == []
    assert [n["why"] for n in told() if "why" in n] == ["more than 10000 events"]


def test_words_around_many_events_do_not_multiply_without_end() -> None:
    changes = [{"field": "feed", "value": n} for n in range(400)]
    entry = {"id": "x" * 200_000, "changes": changes}
    body = json.dumps({"object": "page", "entry": [entry]}).encode()
    door = signed.door("meta")

    heard = door.knock(signed.arriving(Signer("meta").sign(signed.draft("meta", body))))

    assert (heard.status, heard.error) == (413, "body_too_large")
    assert door.accepted == []
