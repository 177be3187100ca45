"""Events are written down once, and come back as they were."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lambdas.shared.event import Content, Event, event_id
from lambdas.shared.ledger import (
    INLINE_BODY_BYTES,
    Audit,
    Bodies,
    BodyGone,
    TableLedger,
    body_key,
)
from lambdas.shared.table import Table
from tests.fakes.clock import NOON
from tests.fakes.ledger import FakeLedger
from tests.fakes.worker import ISSUE

# Noise does not shrink: more than the inline limit, compressed too.
NOISE = b"".join(
    hashlib.sha256(b"%d" % n).digest() for n in range(INLINE_BODY_BYTES // 16)
)


@pytest.fixture
def ledger(table: Table, bodies: Bodies) -> TableLedger:
    return TableLedger(table, bodies, ledger_days=45)


def with_body(body: bytes, event: Event = ISSUE) -> Event:
    return replace(event, content=Content(body, "application/json"))


def test_event_is_accepted_once(ledger: TableLedger) -> None:
    assert ledger.accept(ISSUE)
    assert not ledger.accept(replace(ISSUE, kind="issues.closed"))

    accepted = ledger.event(ISSUE.id)
    assert accepted is not None
    assert accepted.kind == "issues.opened"


def test_event_comes_back_as_it_was(ledger: TableLedger) -> None:
    event = replace(
        ISSUE,
        actor="octocat",
        thread="github:acme/app#7",
        facts={"action": "opened", "amount": 1.1, "huge": 10**40, "none": None},
        headers={"x-github-event": "issues"},
    )

    ledger.accept(event)

    accepted = ledger.event(event.id)
    assert accepted == event
    assert accepted is not None
    assert accepted.body == ISSUE.body
    assert accepted.payload == {"issue": {"number": 7}}


def test_unknown_event_is_none(ledger: TableLedger) -> None:
    assert ledger.event("github:nobody") is None
    assert ledger.story("github:nobody") is None


def test_large_body_is_kept_apart_and_comes_back(
    ledger: TableLedger, table: Table, bodies: Bodies
) -> None:
    event = with_body(NOISE)

    assert ledger.accept(event)

    row = table.get(event.id, "event")
    assert row is not None
    assert "body" not in row
    assert bodies.get(row["body_ref"]) is not None
    accepted = ledger.event(event.id)
    assert accepted is not None
    assert accepted.body == NOISE


def test_large_text_that_shrinks_stays_in_the_row(
    ledger: TableLedger, table: Table
) -> None:
    ledger.accept(with_body(b'{"text":"' + b"all work and no play " * 20_000 + b'"}'))

    row = table.get(ISSUE.id, "event")
    assert row is not None
    assert len(row["body"]) < INLINE_BODY_BYTES


def test_second_large_body_under_one_id_replaces_nothing(ledger: TableLedger) -> None:
    """A captured signature may come with another body; the accepted one stays."""
    ledger.accept(with_body(NOISE))

    assert not ledger.accept(with_body(NOISE[::-1]))

    accepted = ledger.event(ISSUE.id)
    assert accepted is not None
    assert accepted.body == NOISE


def test_repeated_large_body_overwrites_itself() -> None:
    ledger = FakeLedger()

    ledger.accept(with_body(NOISE))
    ledger.accept(with_body(NOISE))

    assert list(ledger.bodies) == [body_key(with_body(NOISE))]


def test_body_that_is_gone_says_so_when_it_is_touched(
    table: Table, bodies: Bodies
) -> None:
    class Lost:
        def put(self, key: str, data: bytes) -> None: ...

        def get(self, key: str) -> bytes | None:
            return bodies.get(key)

    ledger = TableLedger(table, Lost(), ledger_days=45)
    ledger.accept(with_body(NOISE))

    event = ledger.event(ISSUE.id)

    assert event is not None
    assert event.kind == "issues.opened"
    with pytest.raises(BodyGone, match="the body of this event is gone"):
        event.payload  # noqa: B018 - the touch is the act


def test_large_body_that_cannot_be_stored_accepts_nothing() -> None:
    ledger = FakeLedger()
    ledger.bodies.failures.append(OSError("no bucket"))

    with pytest.raises(OSError, match="no bucket"):
        ledger.accept(with_body(NOISE))

    assert len(ledger) == 0


def test_new_and_duplicate_each_cost_one_call() -> None:
    ledger = FakeLedger()

    ledger.accept(ISSUE)
    ledger.accept(ISSUE)

    assert ledger.table.calls == ["put", "put"]


def test_row_lives_ledger_days_from_its_receipt(
    ledger: TableLedger, table: Table
) -> None:
    ledger.accept(ISSUE)

    row = table.get(ISSUE.id, "event")
    assert row is not None
    assert row["expires_at"] == int((NOON + timedelta(days=45)).timestamp())
    assert row["expires_at"] == ledger.expires_at(ISSUE)


def test_attributes_are_spelled_as_the_other_parts_read_them(
    ledger: TableLedger, table: Table
) -> None:
    """The stream's readers and the table's indexes know these names."""
    ledger.accept(ISSUE, via="queue", ignored=True)

    row = table.get(ISSUE.id, "event")
    assert row is not None
    accepted = row["accepted"]
    assert accepted in {f"accepted#2026-11-29T12#{shard}" for shard in range(4)}
    assert {k: v for k, v in row.items() if k not in {"body", "accepted"}} == {
        "pk": "github:72d3162e",
        "sk": "event",
        "source": "github",
        "kind": "issues.opened",
        "tenant": "acme",
        "occurred_at": "2026-11-29T12:00:00.000Z",
        "received_at": "2026-11-29T12:00:00.000Z",
        "expires_at": 1_799_841_600,
        "facts": "{}",
        "headers": "{}",
        "media_type": "application/json",
        "body_bytes": 22,
        "via": "queue",
        "ignored": True,
    }


def test_window_of_time_names_each_event_in_it(ledger: TableLedger) -> None:
    minutes = [0, 59, 60, 119, 120, 180]
    for minute in minutes:
        received_at = NOON + timedelta(minutes=minute)
        ledger.accept(replace(ISSUE, id=f"github:{minute}", received_at=received_at))

    found = ledger.accepted(NOON + timedelta(minutes=59), NOON + timedelta(hours=2))

    assert sorted(found) == ["github:119", "github:59", "github:60"]


def test_unheard_twice_is_unheard(ledger: TableLedger) -> None:
    ledger.accept(ISSUE)

    ledger.unheard(ISSUE.id, 1_799_841_600)
    ledger.unheard(ISSUE.id, 1_799_841_600)

    story = ledger.story(ISSUE.id)
    assert story is not None
    assert story.is_unheard


def test_what_operators_did_is_never_overwritten(
    ledger: TableLedger, table: Table
) -> None:
    entry = Audit(id="a1", at=NOON, who="ops", what="replay", about="github:1")

    ledger.audit(entry)
    ledger.audit(replace(entry, who="somebody else"))
    ledger.audit(replace(entry, id="a2", at=NOON + timedelta(seconds=1)))

    rows = list(table.query("audit#2026-11-29"))
    assert [(row["sk"], row["who"]) for row in rows] == [
        ("2026-11-29T12:00:00.000Z#a1", "ops"),
        ("2026-11-29T12:00:01.000Z#a2", "ops"),
    ]


def test_hourly_limit_counts_only_what_it_let_through(ledger: TableLedger) -> None:
    allowed = [ledger.once_an_hour("triage#t", NOON, 2) for _ in range(4)]
    other_thread = ledger.once_an_hour("triage#u", NOON, 2)
    next_hour = ledger.once_an_hour("triage#t", NOON + timedelta(hours=1), 2)

    assert allowed == [True, True, False, False]
    assert other_thread
    assert next_hour


# The table outlives the examples on purpose: a larger ledger is a harder case.
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    delivery=st.text(min_size=1),
    kind=st.text(min_size=1),
    actor=st.none() | st.text(),
    facts=st.dictionaries(
        st.text(),
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(width=32),
        max_size=5,
    ),
    body=st.binary(max_size=300),
)
def test_whatever_a_sender_says_comes_back(
    ledger: TableLedger,
    delivery: str,
    kind: str,
    actor: str | None,
    facts: dict[str, Any],
    body: bytes,
) -> None:
    event = replace(
        with_body(body),
        id=event_id("github", delivery),
        kind=kind,
        actor=actor,
        facts=facts,
    )

    first = ledger.accept(event)

    accepted = ledger.event(event.id)
    assert accepted is not None
    if first:
        assert (accepted.kind, accepted.actor) == (kind, actor)
        assert repr(dict(accepted.facts)) == repr(facts)
        assert accepted.body == body
    assert not ledger.accept(event)
