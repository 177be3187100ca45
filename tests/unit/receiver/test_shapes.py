"""Shapes that no sender has: several events, handshakes, bodies of any kind."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from lambdas.receiver.senders import (
    Answer,
    Body,
    Header,
    Request,
    Sender,
    Token,
    walk,
)
from lambdas.shared.errors import Unavailable
from tests.unit.receiver.conftest import Told, metrics
from tests.unit.receiver.door import SECRET, Call, Door


def token_door(sender: Sender, **source: Any) -> Door:
    door = Door("github", name="shape", **source)
    door.intake._senders["shape"] = sender
    return door


def batch(*ids: object) -> Call:
    events = [{"id": each, "kind": "opened"} for each in ids]
    return Call(headers={"x-token": SECRET}, body=json.dumps(events).encode())


BATCH = Sender(
    proof=Token(place=Header("x-token")),
    delivery_id="id",
    kind="kind",
    split=lambda data: data if isinstance(data, list) else [],
)


def test_each_event_of_a_request_is_accepted_under_its_own_id() -> None:
    door = token_door(BATCH)

    heard = door.knock(batch("a", "b", "a"))

    assert heard.json == {
        "event_id": "shape:a",
        "deduplicated": False,
        "event_ids": ["shape:a", "shape:b", "shape:a"],
    }
    assert [event.payload for event in door.accepted] == [
        {"id": "a", "kind": "opened"},
        {"id": "b", "kind": "opened"},
    ]
    assert door.knock(batch("a", "b")).json["deduplicated"] is True


def test_failure_half_way_is_completed_by_the_repeat() -> None:
    door = token_door(BATCH)
    door.ledger.failures[2] = Unavailable("the ledger did not answer")

    assert door.knock(batch("a", "b", "c")).status == 503
    assert list(door.ledger.events) == ["shape:a", "shape:b"]

    assert door.knock(batch("a", "b", "c")).json["deduplicated"] is False
    assert list(door.ledger.events) == ["shape:a", "shape:b", "shape:c"]


def test_bad_event_of_a_batch_harms_no_neighbour(
    told: Told,
) -> None:
    door = token_door(BATCH)

    heard = door.knock(batch("a", None, "c"))

    assert heard.json["event_ids"] == ["shape:a", "shape:c"]
    refused = [x for x in metrics(told()) if x[0] == "EventsRefused"]
    assert refused == [
        ("EventsRefused", {"Source": "shape", "Reason": "no_delivery_id"}, [1])
    ]


def test_batch_of_nothing_but_bad_events_is_refused() -> None:
    heard = token_door(BATCH).knock(batch(None, {}))

    assert (heard.status, heard.error) == (400, "no_delivery_id")


def test_empty_batch_is_answered_and_stores_nothing() -> None:
    heard = token_door(BATCH).knock(batch())

    assert heard.json == {"event_id": None, "deduplicated": False, "event_ids": []}


def greet(request: Request, secrets: Any) -> Answer | None:
    challenge = request.arguments.get("challenge")
    return Answer(body=challenge) if challenge else None


def test_greeting_comes_before_verification_and_is_not_a_page() -> None:
    door = token_door(dataclasses.replace(BATCH, greet=greet))

    heard = door.knock(Call(headers={}, query="challenge=%3Cb%3E+x"))

    assert (heard.status, heard.body) == (200, "<b> x")
    assert heard.headers["content-type"].startswith("text/plain")
    assert heard.headers["x-content-type-options"] == "nosniff"
    assert door.accepted == []


def test_reply_comes_after_verification() -> None:
    def reply(request: Request) -> Answer | None:
        return Answer(status=204) if walk(request.data, "type") == 1 else None

    door = token_door(dataclasses.replace(BATCH, reply=reply, split=None))
    ping = Call(headers={"x-token": SECRET}, body=b'{"type": 1}')

    assert door.knock(ping).status == 204
    assert door.knock(ping.without("x-token")).status == 401
    assert door.accepted == []


def test_sender_may_want_its_own_success() -> None:
    special = dataclasses.replace(BATCH, success=lambda _: Answer(status=204))

    heard = token_door(special).knock(batch("a"))

    assert (heard.status, heard.body) == (204, "")


def test_body_may_be_anything_where_the_sender_says_so() -> None:
    pinged = dataclasses.replace(
        BATCH,
        body="any",
        split=None,
        methods=("GET", "POST"),
        kind=Body("kind", default="ping"),
    )
    for method, body in (("GET", b""), ("POST", b"\xff\x00 not JSON")):
        door = token_door(pinged, identity="body")
        call = Call(headers={"x-token": SECRET}, method=method, body=body, base64=True)

        assert door.knock(call).status == 200
        assert (door.accepted[0].kind, door.accepted[0].body) == ("ping", body)


def test_sender_without_delivery_id_asks_the_operator_to_choose() -> None:
    nameless = dataclasses.replace(BATCH, delivery_id=None, split=None)
    call = Call(headers={"x-token": SECRET}, body=b'{"kind": "x"}')

    assert token_door(nameless).knock(call).status == 500
    assert token_door(nameless, identity="request").knock(call).status == 200
