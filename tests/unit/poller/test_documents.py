"""Feeds of JSON: JSON Feed, and documents that the source's table explains."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from lambdas.poller import reading
from lambdas.poller.item import Refused
from lambdas.shared.fleet import Feed, parse
from tests.fakes.feeds import START, document

TABLE = '[sources.news]\nsender = "feed"\nformat = "json"\nurl = "https://a.example/"\n'
ORDER = {"key": 7, "type": "order.paid", "made": {"at": 1795953600}, "shop": {"id": 3}}


def feed(keys: str = "") -> Feed:
    return parse(TABLE + keys).feeds["news"]


def events(document: Any, keys: str = "") -> list[dict[str, Any]]:
    table = feed(keys)
    read = reading.read(table, json.dumps(document).encode())
    found = [reading.event_of(table, i, START, edited=False) for i in read.items]
    return [
        {"id": e.id, "kind": e.kind, "at": e.occurred_at, "tenant": e.tenant}
        for e in found
    ]


def test_json_feed_needs_no_more_than_its_address() -> None:
    entry = {"id": "1", "url": "https://a.example/1", "title": "One", "tags": ["a"]}
    entry["date_published"] = "2026-11-28T10:00:00Z"
    read = reading.read(feed(), document(entry, {"url": "https://a.example/2"}))
    first, second = (
        reading.event_of(feed(), item, START, edited=False) for item in read.items
    )

    assert (first.id, first.kind, first.source) == ("news:1", "item", "news")
    assert first.occurred_at == datetime(2026, 11, 28, 10, tzinfo=UTC)
    assert first.payload == entry
    assert first.facts == {"title": "One"}
    # Without a time it has the one at which it was found.
    assert (second.id, second.occurred_at) == ("news:https://a.example/2", START)


def test_document_of_any_shape_is_explained_by_picks() -> None:
    keys = """
items = "data.orders"
id_from = "body:key"
kind_from = "body:type"
time_from = "body:made.at"
tenant_from = "body:shop.id"
"""
    (found,) = events({"data": {"orders": [ORDER]}}, keys)

    assert found == {
        "id": "news:7",
        "kind": "order.paid",
        "at": datetime(2026, 11, 29, 12, tzinfo=UTC),
        "tenant": "3",
    }


def test_list_is_its_own_list_of_items() -> None:
    assert [e["id"] for e in events([{"id": 1}, {"id": "b"}])] == ["news:1", "news:b"]


def test_items_without_an_id_have_a_hash_unless_the_table_says_where_it_is() -> None:
    rows = [{"n": 1}, "word", 3, None, {"n": 1}]

    assert len({e["id"] for e in events(rows)}) == 4
    assert events(rows, 'id_from = "body:key"') == []
    notes = reading.read(feed('id_from = "body:key"'), json.dumps(rows).encode()).notes
    assert notes == ("5 items have no id where id_from says",)


def test_of_two_items_under_one_id_the_first_counts() -> None:
    read = reading.read(feed(), document({"id": 1, "n": 1}, {"id": "1", "n": 2}))

    assert [item.data["n"] for item in read.items] == [1]
    assert read.notes == ("1 items have the id of one before them",)


def test_kind_that_an_item_does_not_tell_is_the_usual_one() -> None:
    (found,) = events([{"id": 1, "type": ""}], 'kind_from = "body:type"')

    assert found["kind"] == "item"


def test_facts_are_picked_and_bounded() -> None:
    table = feed('facts = ["a.b", "long", "list"]')
    item = {"id": 1, "a": {"b": True}, "long": "x" * 5000, "list": [1]}
    (found,) = reading.read(table, document(item)).items

    event = reading.event_of(table, found, START, edited=False)

    assert event.facts == {"a.b": True}


def test_strangest_ids_are_keys_of_the_ledger() -> None:
    ids = ["x" * 1000, "\ud800", "a\nb", "😀"]

    found = events([{"id": each} for each in ids])

    assert len({e["id"] for e in found}) == 4
    assert all(len(e["id"].encode()) <= 300 for e in found)


@pytest.mark.parametrize(
    ("body", "keys", "why"),
    [
        (b"", "", "it is empty"),
        (b"<rss/>", "", "a page or XML"),
        (b"{", "", "broken JSON"),
        (b"[" * 100_000, "", "broken JSON"),
        (b"9" * 100_000, "", "broken JSON"),
        (b"3", "", "no list of items at 'items'"),
        (b"{}", "", "no list of items at 'items'"),
        (b'{"items": {}}', "", "no list of items at 'items'"),
        (b'{"a": []}', 'items = "a.b"', "no list of items at 'a.b'"),
        (json.dumps(list(range(20_001))).encode(), "", "more than 20000 items"),
    ],
)
def test_what_is_no_document_is_refused(body: bytes, keys: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        reading.read(feed(keys), body)
