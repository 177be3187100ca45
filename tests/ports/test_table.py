"""What the ledger relies on, of its table in memory and of DynamoDB alike."""

from __future__ import annotations

from typing import Any

import pytest

from lambdas.shared.table import (
    NEW,
    Absent,
    Below,
    Change,
    Condition,
    Is,
    IsNot,
    OneOf,
    Table,
)

ROW = {"pk": "github:1", "sk": "run#triage", "state": "FAILED", "due_at": 100}


def test_row_comes_back_with_the_types_it_was_written_with(table: Table) -> None:
    row = {**ROW, "body": b"\x00\xff", "ignored": True, "reason": {"n": -1, "t": "é"}}

    table.put(row)

    assert table.get("github:1", "run#triage") == row


def test_new_row_is_written_once(table: Table) -> None:
    assert table.put(ROW, when=NEW)
    assert not table.put({**ROW, "state": "DEAD"}, when=NEW)

    assert table.get("github:1", "run#triage") == ROW


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (Absent("reason"), True),
        (Absent("state"), False),
        (Is("state", "FAILED"), True),
        (Is("state", "DEAD"), False),
        (Is("reason", "x"), False),
        (IsNot("state", "DEAD"), True),
        (IsNot("state", "FAILED"), False),
        (OneOf("state", ("DEAD", "FAILED")), True),
        (OneOf("state", ("DEAD",)), False),
        (OneOf("reason", ("x",)), False),
        (Below("due_at", 101), True),
        (Below("due_at", 100), False),
        (Below("finished_at", 10**13), False),
        (Is("state", "DEAD") | Below("due_at", 101), True),
        (Is("state", "FAILED") & Below("due_at", 100), False),
        (NEW | (Is("state", "FAILED") & (Is("x", 1) | IsNot("state", "DEAD"))), True),
    ],
    ids=str,
)
def test_change_is_made_only_under_its_condition(
    table: Table, condition: Condition, holds: bool
) -> None:
    table.put(ROW)

    outcome = table.update(
        "github:1", "run#triage", Change(set={"state": "SEEN"}), when=condition
    )

    assert outcome.done is holds
    assert outcome.row == ({**ROW, "state": "SEEN"} if holds else ROW)
    assert table.get("github:1", "run#triage") == outcome.row


def test_absent_row_has_no_attribute_that_a_condition_could_hold_of(
    table: Table,
) -> None:
    refused = table.update("a", "b", Change(set={"x": 1}), when=Is("x", 0))
    made = table.update("a", "b", Change(set={"x": 1}), when=NEW)

    assert (refused.done, refused.row) == (False, {})
    assert made.row == {"pk": "a", "sk": "b", "x": 1}


def test_one_change_sets_adds_and_removes(table: Table) -> None:
    table.put(ROW)
    change = Change(set={"state": "PROCESSING"}, add={"attempt": 1}, remove=["due_at"])

    table.update("github:1", "run#triage", change, when=Is("state", "FAILED"))
    table.update("github:1", "run#triage", change, when=Absent("due_at"))

    row = table.get("github:1", "run#triage")
    assert row == {
        "pk": "github:1",
        "sk": "run#triage",
        "state": "PROCESSING",
        "attempt": 2,
    }


def test_query_returns_the_rows_of_one_key_in_order(table: Table) -> None:
    for pk, sk in [("a", "step#2"), ("a", "step#1"), ("a", "run#x"), ("b", "step#1")]:
        table.put({"pk": pk, "sk": sk})

    assert [row["sk"] for row in table.query("a")] == ["run#x", "step#1", "step#2"]
    assert [row["sk"] for row in table.query("a", "step#")] == ["step#1", "step#2"]


def test_query_reads_past_the_first_page(table: Table) -> None:
    """DynamoDB ends a page at 1 MB."""
    for number in range(4):
        table.put({"pk": "a", "sk": f"step#{number}", "result": "x" * 350_000})

    assert [len(row["result"]) for row in table.query("a")] == [350_000] * 4


@pytest.mark.parametrize(
    ("index", "partition", "sort", "values"),
    [
        ("by-time", "accepted", "received_at", ["1", "2", "3"]),
        ("by-state", "attention", "finished_at", [1, 2, 3]),
    ],
)
def test_index_returns_a_half_open_range(
    table: Table, index: str, partition: str, sort: str, values: list[Any]
) -> None:
    for value in reversed(values):
        table.put({"pk": f"id-{value}", "sk": "row", partition: "p", sort: value})
    table.put({"pk": "id-9", "sk": "row", partition: "other", sort: values[0]})

    found = table.index(index, "p", values[0], values[2])

    assert [row["pk"] for row in found] == ["id-1", "id-2"]


def test_text_that_is_no_unicode_is_kept_in_words(table: Table) -> None:
    """Half a surrogate pair in a sender's field must not fail the whole write."""
    table.put({"pk": "a", "sk": "event", "actor": "x\ud800"})

    assert table.get("a", "event") == {"pk": "a", "sk": "event", "actor": r"x\ud800"}


@pytest.mark.parametrize("value", [1.5, None, [1]], ids=str)
def test_what_would_come_back_as_something_else_is_not_taken(
    table: Table, value: Any
) -> None:
    with pytest.raises(TypeError, match="the ledger holds no"):
        table.put({"pk": "a", "sk": "event", "odd": value})


def test_delete_removes_a_row_and_is_content_where_there_is_none(table: Any) -> None:
    table.put({"pk": "a", "sk": "b"})

    table.delete("a", "b")
    table.delete("a", "b")

    assert table.get("a", "b") is None
