"""Valid requests of every sender with one to three things changed: never a 5xx."""

from __future__ import annotations

import dataclasses
import gc
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from lambdas.receiver.request import FORM
from lambdas.shared.event import Event
from lambdas.shared.fetch import Fetcher
from lambdas.shared.ledger import TableLedger
from tests.fakes.ledger import FakeBodies, FakeTable
from tests.flows.receiver import changing
from tests.flows.receiver.reached import Reached
from tests.unit.receiver import signed
from tests.unit.receiver.door import Call, Door

# Of the processor. Far above the slowest seen (a few ms); a quadratic step would pass
# it at once.
SLOW_SECONDS = 0.5

# Branches that no sender's request leads to, and why they are there.
NOT_BY_A_REQUEST = {
    'adyen: raise Rejected(Code.BAD_SIGNATURE, "there is no signature")': (
        "it is asked only where there are items"
    ),
    'generic: raise Misconfigured(f"source {source.name}: no keys of the generic sender")': (  # noqa: E501
        "the fleet's reader gives every generic source its keys"
    ),
    'standard_webhooks: raise Misconfigured(f"source {source.name}: public_key: want true or false")': (  # noqa: E501
        "synthesis asks it first"
    ),
    "datadog: if isinstance(request, Request):": (
        "a proof's place is always given the whole request"
    ),
}


class WrittenLedger:
    """The real ledger over a table in memory; it counts what it was given."""

    def __init__(self) -> None:
        self._ledger = TableLedger(FakeTable(), FakeBodies(), ledger_days=45)
        self.calls = 0

    def accept(self, event: Event, *, ignored: bool = False) -> bool:
        self.calls += 1
        # UTF-8 is what every store wants of a text.
        for word in (event.id, event.kind, event.actor, event.thread, event.tenant):
            (word or "").encode()
        return self._ledger.accept(event, ignored=ignored)


@pytest.fixture(scope="module")
def doors() -> dict[str, Door]:
    opened = changing.doors()
    for door in opened.values():
        door.ledger = WrittenLedger()  # type: ignore[assignment]
    return opened


def a_minute_passes(door: Door) -> None:
    """Let the next certificate be fetched: how often is another test's matter."""
    assert isinstance(door.intake.fetch, Fetcher)
    door.intake.fetch._calls.clear()


def test_changed_requests_are_refused_or_accepted_calmly(
    doors: dict[str, Door],
    full_size: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chance = random.Random(20261129)  # noqa: S311 - the same cases at every run
    outcomes: Counter[str] = Counter()
    reached = Reached()

    with reached:
        for number in range(100_000 if full_size else 4_000):
            name, call = changing.case(chance)
            door = doors[name]
            written = door.ledger.calls
            a_minute_passes(door)
            # A walk through all that the cases before have left is none of this one's.
            gc.disable()
            started = time.thread_time()

            heard = door.knock(call)

            spent = time.thread_time() - started
            gc.enable()
            assert spent < SLOW_SECONDS, (name, call)
            assert heard.status < 500, (name, call, heard)
            if heard.status >= 400:
                assert door.ledger.calls == written, (name, call, heard)
            outcomes[heard.error or str(heard.status)] += 1
            if number % 100 == 0:
                capsys.readouterr()

    capsys.readouterr()
    missing, count = reached.missing(tmp_path)
    with capsys.disabled():
        print("\noutcomes:", dict(outcomes.most_common()))  # noqa: T201
        print(f"branches of the senders: {count} reached, not: {missing}")  # noqa: T201
    assert {"200", "bad_signature", "malformed", "no_delivery_id"} <= set(outcomes)
    if full_size:
        assert set(missing) == set(NOT_BY_A_REQUEST)


SHAPES = {
    "brackets": (b"[", "application/json"),
    "objects": (b'{"a":', "application/json"),
    "digits": (b"9", "application/json"),
    "commas": (b'"a",', "application/json"),
    "fields": (b"a=1&", FORM),
    "escapes": (b"%41", FORM),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_no_faster_than_the_body(
    shape: str, doors: dict[str, Door], capsys: pytest.CaptureFixture[str]
) -> None:
    """Four times the bytes, at most twelve times the time: a square would be 16."""
    piece, media_type = SHAPES[shape]
    for name in signed.NAMES:
        door = doors[name]
        spent = [
            min(seconds(door, name, piece * (size // len(piece)), media_type, capsys))
            for size in (100_000, 400_000)
        ]

        assert spent[1] < 12 * spent[0] + 0.02, (name, spent)


def seconds(
    door: Door,
    name: str,
    body: bytes,
    media_type: str,
    capsys: pytest.CaptureFixture[str],
) -> list[float]:
    """Return how long each of some requests took, whatever was answered."""
    call: Call = signed.call(name).having("Content-Type", media_type)
    call = dataclasses.replace(call, body=body)
    found = []
    for _ in range(3):
        started = time.thread_time()
        heard = door.knock(call)
        found.append(time.thread_time() - started)
        assert heard.status < 500, (name, heard)
    capsys.readouterr()
    return found
