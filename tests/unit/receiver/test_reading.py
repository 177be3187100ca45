"""What becomes of a verified request: names, facts, times, within bounds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lambdas.receiver.places import Body, Header
from lambdas.receiver.request import Request
from lambdas.receiver.senders import Sender, Token
from lambdas.shared.errors import Code, Rejected
from lambdas.shared.event import Event
from lambdas.shared.fleet import Source
from lambdas.shared.values import MOST_FACT_BYTES, instant, text, walk
from tests.unit.receiver.conftest import Told
from tests.unit.receiver.door import NOW

PLAIN = Sender(
    proof=Token(place=Header("x-token")),
    delivery_id="id",
    kind="kind",
    occurred_at="at",
    tenant="tenant",
    actor="actor",
    thread="thread",
    facts={"size": "size", "name": "name"},
    headers=("x-kept",),
)


def one(values: Any, sender: Sender = PLAIN, **source: Any) -> Event:
    """Read one event from a body of these values."""
    if isinstance(values, dict):
        values = {"id": "1", "kind": "opened", **values}
    request = Request(
        source=Source(name="cafe", sender="x", secret_name="x", **source),
        method="POST",
        headers={"x-kept": "yes", "x-other": "no", "authorization": "Bearer secret"},
        body=json.dumps(values).encode(),
        received_at=NOW,
    )
    found = sender.read(request)
    assert isinstance(found, list)
    (event,) = found
    return event


def test_event_carries_the_senders_own_words() -> None:
    event = one(
        {
            "at": "2026-11-29T13:00:00+02:00",
            "tenant": 7,
            "actor": "anna",
            "thread": "t-1",
            "size": 3,
            "name": "Crème",
        }
    )

    assert (event.id, event.source, event.kind) == ("cafe:1", "cafe", "opened")
    assert event.occurred_at == datetime(2026, 11, 29, 11, 0, tzinfo=UTC)
    assert event.received_at == NOW
    assert (event.tenant, event.actor, event.thread) == ("7", "anna", "t-1")
    assert event.facts == {"size": 3, "name": "Crème"}


def test_only_listed_headers_are_kept() -> None:
    assert one({}).headers == {"x-kept": "yes"}


@pytest.mark.parametrize("junk", [None, "", [], {}, True, [1], {"a": 1}, 1.5], ids=repr)
def test_what_only_decorates_never_refuses(junk: Any) -> None:
    event = one({"at": junk, "tenant": junk, "actor": junk, "thread": junk})

    assert (event.tenant, event.actor, event.thread) == (None, None, None)
    assert event.occurred_at.utcoffset() == NOW.utcoffset()


@pytest.mark.parametrize("junk", [None, "", [], {}, True, 1.5], ids=repr)
def test_delivery_id_must_be_a_word(junk: Any) -> None:
    with pytest.raises(Rejected) as refused:
        one({"id": junk})
    assert refused.value.code == Code.NO_DELIVERY_ID


@pytest.mark.parametrize("junk", [None, "", [], {}, True], ids=repr)
def test_kind_must_be_a_word(junk: Any) -> None:
    with pytest.raises(Rejected) as refused:
        one({"kind": junk})
    assert refused.value.code == Code.MALFORMED


@pytest.mark.parametrize("values", [7, "text", None, True])
def test_body_must_be_an_object_or_a_list(values: Any) -> None:
    with pytest.raises(Rejected) as refused:
        one(values)
    assert refused.value.code == Code.MALFORMED


def test_words_are_such_that_every_store_takes_them() -> None:
    event = one({"id": "\ud800x", "kind": "k\udfff", "actor": "a" * 9999})

    assert event.id == "cafe:\\ud800x"
    assert event.kind == "k\\udfff"
    assert event.actor == "a" * 256
    assert one({"id": "x" * 9999}).id.startswith("cafe:sha256-")


def test_source_adds_facts_under_their_paths() -> None:
    event = one(
        {"pull": {"labels": [{"name": "bug"}]}, "deep": {"list": [1]}, "size": 1},
        facts=("pull.labels[0].name", "deep.list", "absent.path"),
    )

    assert event.facts == {"size": 1, "pull.labels[0].name": "bug"}


def test_source_adds_facts_from_headers_under_their_names() -> None:
    event = one({}, facts=("header:X-Kept", "header:X-Absent", "id"))

    assert event.facts == {"x-kept": "yes", "id": "1"}


@pytest.mark.parametrize(
    "junk",
    [None, [], {}, float("nan"), float("inf"), 10**400, -(10**400)],
    ids=lambda junk: repr(junk)[:20],
)
def test_fact_is_a_value_that_a_rule_can_match(junk: Any) -> None:
    assert one({"size": junk, "name": False}).facts == {"name": False}


def test_facts_stay_within_4_kb_and_the_dropped_are_named(told: Told) -> None:
    event = one({"size": "x" * 4000, "name": "é" * 60, "b": 1}, facts=("b", "size"))

    assert list(event.facts) == ["size", "b"]
    compact = json.dumps(event.facts, ensure_ascii=False).encode()
    assert len(compact) <= MOST_FACT_BYTES
    (line,) = told()
    assert (line["message"], line["dropped"]) == (
        "facts dropped, more than 4 KB",
        ["name"],
    )


def test_place_that_fails_is_left_out() -> None:
    def clumsy(message: Any) -> Any:
        return message.data["absent"]["deeper"]

    sender = Sender(proof=PLAIN.proof, delivery_id="id", kind="kind", actor=clumsy)

    assert one({}, sender).actor is None


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a", {"b": [{"c": 1}, 2]}),
        ("a.b.0.c", 1),
        ("$.a.b[1]", 2),
        ("a.b.9", None),
        ("a.b.-1", None),
        ("a.b.x", None),
        ("a.b.0.c.d", None),
        ("", None),
    ],
)
def test_path_is_walked(path: str, found: Any) -> None:
    assert walk({"a": {"b": [{"c": 1}, 2]}}, path) == found


@pytest.mark.parametrize(
    ("value", "unit", "seconds"),
    [
        (1795953600, None, 1795953600),
        ("1795953600", None, 1795953600),
        (1795953600.5, None, 1795953600.5),
        (1795953600123, None, 1795953600.123),
        ("2026-11-29T12:00:00Z", None, 1795953600),
        ("2026-11-29t13:00:00.5+01:00", None, 1795953600.5),
        ("2026-11-29 12:00:00Z", None, 1795953600),
        ("1795953600", "rfc3339", None),
        ("2026-11-29T12:00:00Z", "s", None),
        ("2026-11-29T12:00:00", None, None),
        ("2026-13-29T12:00:00Z", None, None),
        ("soon", None, None),
        (-1, None, None),
        (float("nan"), None, None),
        (1e300, None, None),
        (10**30, None, None),
        (True, None, None),
        ({}, None, None),
    ],
    ids=repr,
)
def test_time_is_read_or_left_out(value: Any, unit: Any, seconds: float | None) -> None:
    found = instant(value, unit)

    assert (found.timestamp() if found else None) == seconds


def test_header_place_refuses_what_is_not_one_value() -> None:
    message = Request(
        source=Source(name="cafe", sender="x", secret_name="x"),
        method="POST",
        headers={"a": "x,y", "b": "é", "c": " word ", "d": ""},
        body=b"null",
        received_at=NOW,
    )

    for name in ("a", "b"):
        with pytest.raises(Rejected):
            Header(name)(message)
    assert Header("c")(message) == "word"
    assert Header("d")(message) is None
    assert Body("x", default="event")(message) == "event"


@pytest.mark.parametrize(
    ("value", "word"), [("x", "x"), (7, "7"), (True, None), (1.5, None), ("", None)]
)
def test_word_is_text_or_a_whole_number(value: Any, word: str | None) -> None:
    assert text(value) == word
