"""Valid requests of every sender with one to three things changed: never a 5xx."""

from __future__ import annotations

import dataclasses
import importlib
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from cli.signers import Signer
from cli.signers.draft import Draft
from lambdas.shared.event import Event
from lambdas.shared.ledger import TableLedger
from tests.fakes.ledger import FakeBodies, FakeTable
from tests.unit.receiver import signed
from tests.unit.receiver.door import NOW, Call, Door

# A tenth of the cases is signed after the change: a sender's own nonsense.
SIGNED_AFTER = 0.1
# Far above the slowest seen (a few ms); a quadratic step would pass it at once.
SLOW_SECONDS = 0.5

JUNK_TEXT = ["", "é", "\ud800", "9" * 400, "-1", "NaN", "v1=", "=", ",", "a,b", "\x00"]
JUNK_TEXT += ["{}", "null", "1e999", "%FF", "t=1,v1=2", "Bearer x", "١٢٣", " "]
JUNK_VALUES: list[Any] = [None, True, 0, -1, 10**40, 1e308, float("nan"), "", "\ud800"]
JUNK_VALUES += ["x" * 3000, [], {}, [[]], [None], {"a": {}}]
JUNK_QUERIES = ["a=%FF", "hub.mode=subscribe", "\ud800=1", "a&" * 2000]
JUNK_QUERIES += ["validationToken=\ud800", "hub.verify_token=x&hub.challenge=y"]


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


def test_changed_requests_are_refused_or_accepted_calmly(
    full_size: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(20261129)  # noqa: S311 - the same cases at every run
    outcomes: Counter[str] = Counter()
    doors: dict[str, Door] = {}
    for name in signed.NAMES:
        doors[name] = signed.door(name)
        doors[name].ledger = WrittenLedger()  # type: ignore[assignment]

    for _ in range(100_000 if full_size else 4_000):
        name, event = chance.choice(signed.SAMPLES)
        door, call = doors[name], changed(chance, name, event)
        written = door.ledger.calls
        started = time.perf_counter()

        heard = door.knock(call)

        assert time.perf_counter() - started < SLOW_SECONDS, (name, call)
        assert heard.status < 500, (name, call, heard)
        if heard.status >= 400:
            assert door.ledger.calls == written, (name, call, heard)
        outcomes[heard.error or str(heard.status)] += 1
        capsys.readouterr()

    with capsys.disabled():
        print("\noutcomes:", dict(outcomes.most_common()))  # noqa: T201
    assert {"200", "bad_signature", "malformed", "no_delivery_id"} <= set(outcomes)


def changed(chance: random.Random, name: str, event: str) -> Call:
    call = signed.call(name, event)
    if chance.random() < SIGNED_AFTER:
        return signed_nonsense(chance, name, call)
    changes: list[Callable[[random.Random, Call], Call]]
    changes = [header, header, body, query, method]
    for _ in range(chance.randint(1, 3)):
        call = chance.choice(changes)(chance, call)
    return call


def header(chance: random.Random, call: Call) -> Call:
    if not call.headers:
        return call
    name = chance.choice(sorted(call.headers))
    value = call.headers[name]
    junk = chance.choice(JUNK_TEXT)
    return chance.choice(
        [
            call.without(name),
            call.having(name, junk),
            call.having(name, f"{value},{value}"),
            call.having(name, value[: chance.randrange(len(value) + 1)]),
            call.having(name, value.upper()),
            call.having(name, f"{junk},{value}"),
            call.having(name, f"{value} {junk}"),
        ]
    )


def body(chance: random.Random, call: Call) -> Call:
    data = bytearray(call.body or b"x")
    data[chance.randrange(len(data))] = chance.randrange(256)
    return dataclasses.replace(call, body=bytes(data), base64=True)


def query(chance: random.Random, call: Call) -> Call:
    return dataclasses.replace(call, query=chance.choice(JUNK_QUERIES))


def method(chance: random.Random, call: Call) -> Call:
    return dataclasses.replace(call, method=chance.choice(["GET", "PUT", "HEAD", "é"]))


def signed_nonsense(chance: random.Random, name: str, call: Call) -> Call:
    try:
        values = json.loads(call.body)
    except ValueError:
        values = {}
    for _ in range(chance.randint(1, 3)):
        values = bent(chance, values)
    sign = importlib.import_module(f"cli.signers.{name.replace('-', '_')}").sign
    draft = Draft(
        event="a.b",
        body=json.dumps(values).encode(),
        secret=signed.secret(name),
        at=NOW,
        id=chance.choice(["x", "é", "a,b", "", "z" * 500]),
        url=signed.url(name),
        options=Signer(name).options,
        media_type=chance.choice(
            ["application/json", "application/x-www-form-urlencoded", "text/plain", "é"]
        ),
    )
    try:
        delivery = sign(draft)
    except (ValueError, TypeError, LookupError, AttributeError):
        return call  # the signer itself must read the body
    return Call(
        headers=delivery.headers,
        body=delivery.body,
        query=delivery.query,
        base64=True,
    )


def bent(chance: random.Random, values: Any) -> Any:
    """Replace or drop one value somewhere inside."""
    if isinstance(values, dict) and values and chance.random() < 0.8:
        key = chance.choice(sorted(values))
        if chance.random() < 0.3:
            return {k: v for k, v in values.items() if k != key}
        return {**values, key: bent(chance, values[key])}
    if isinstance(values, list) and values and chance.random() < 0.8:
        index = chance.randrange(len(values))
        return [*values[:index], bent(chance, values[index]), *values[index + 1 :]]
    return chance.choice(JUNK_VALUES)
