"""What strangers put into feeds, and clocks that are wrong."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from lambdas.poller import documents, syndication
from lambdas.poller.cursor import Cursor
from lambdas.poller.item import Refused
from lambdas.shared.fleet import parse
from tests.fakes.feeds import START, Kiosk, numbered

AHEAD = timedelta(days=400)


def test_attributes_that_every_element_would_have_are_refused() -> None:
    """Without an entity: a kilobyte that each of ten thousand elements repeats."""
    declared = f"<!ATTLIST title of CDATA '{'x' * 1000}'>"
    titles = "<item><title/></item>" * 10_000
    feed = f"<!DOCTYPE rss [{declared}]><rss><channel>{titles}</channel></rss>"

    with pytest.raises(Refused, match="declares attributes"):
        syndication.read(feed.encode())


def test_numbers_that_json_has_not_are_nothing_in_the_event() -> None:
    table = (
        '[sources.a]\nsender = "feed"\nformat = "json"\nurl = "https://a.example/"\n'
    )
    body = b'{"items": [{"id": "a", "x": NaN, "y": -Infinity, "z": [1e999, 1.5]}]}'

    (item,) = documents.read(body, parse(table).feeds["a"]).items

    def never(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    told = json.loads(item.body, parse_constant=never)
    assert told == {"id": "a", "x": None, "y": None, "z": [None, 1.5]}


def test_clock_that_ran_ahead_does_not_silence_a_feed_for_as_long() -> None:
    kiosk = Kiosk('first_run = "all"')
    kiosk.publish(*numbered(1), cache_control="max-age=3600")
    kiosk.clock.instant = START + AHEAD
    kiosk.poll()

    kiosk.clock.instant = START
    kiosk.publish(*numbered(2))

    assert kiosk.poll()["accepted"] == 1


def test_run_that_died_while_the_clock_was_ahead_lets_go() -> None:
    kiosk = Kiosk('first_run = "all"')
    kiosk.publish(*numbered(1))
    cursor = Cursor(kiosk.ledger.table, "news")
    assert cursor.take("dead", START + AHEAD) is not None

    assert kiosk.poll()["accepted"] == 1
    assert cursor.take("alive", kiosk.clock()) is not None
    assert kiosk.poll(timedelta(minutes=9))["state"].startswith("busy")
