"""The relay: what was accepted is published, parked or called unheard."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from boto3.dynamodb.types import TypeSerializer

from lambdas.relay.relay import Relay
from lambdas.shared.errors import Misconfigured, Unavailable
from lambdas.shared.event import Content, Event
from lambdas.shared.fleet import parse
from tests.fakes.bus import FakeBus, FakeParked
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.ledger import FakeLedger

_FLEET = parse("""
    [sources.github]
    [agents.triage]
    run = "agents.triage:run"
    on = [{ source = "github", kind = "issues.*", facts = { big = [true] } },
          { source = "github", kind = "push" }]
""")


class Scene:
    """A relay and everything around it, in memory."""

    def __init__(self) -> None:
        self.bus, self.parked = FakeBus(), FakeParked()
        self.ledger, self.clock = FakeLedger(), FakeClock()
        self.relay = Relay(
            _FLEET.agents.values(),
            bus=self.bus,
            ledger=self.ledger,
            parked=self.parked,
            clock=self.clock,
        )

    def accept(
        self, name: str, *, ignored: bool = False, **parts: Any
    ) -> dict[str, Any]:
        """Accept an event and return the record that the stream makes of it."""
        given: dict[str, Any] = {
            "kind": "push",
            "facts": {},
            "occurred_at": NOON,
            "received_at": NOON,
            "content": Content(b"{}"),
            "source": "github",
        }
        event = Event(id=f"github:{name}", **(given | parts))
        self.ledger.accept(event, ignored=ignored)
        return record(self.ledger.table.rows[event.id, "event"])

    @property
    def unheard(self) -> set[str]:
        return {pk for pk, sk in self.ledger.table.rows if sk == "unheard"}


def record(row: dict[str, Any], event_name: str = "INSERT") -> dict[str, Any]:
    """Return ``row`` as Lambda hands over a record of the stream: bytes in base64."""
    image: dict[str, Any] = {
        name: TypeSerializer().serialize(value) for name, value in row.items()
    }
    for value in image.values():
        if "B" in value:
            value["B"] = base64.b64encode(value["B"]).decode()
    return {"eventName": event_name, "dynamodb": {"NewImage": image}}


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_new_event_travels_with_its_facts_and_without_its_body(scene: Scene) -> None:
    scene.relay.carry(
        [
            scene.accept(
                "1",
                facts={"big": True, "amount": 0.1},
                tenant="acme",
                content=Content(b'{"secret": 1}'),
            )
        ]
    )

    (entry,) = scene.bus.published
    assert (entry.source, entry.kind) == ("bellhop.github", "push")
    assert json.loads(entry.text) == {
        "event_id": "github:1",
        "tenant": "acme",
        "received_at": "2026-11-29T12:00:00.000Z",
        "expires_at": int((NOON + timedelta(days=45)).timestamp()),
        "facts": {"big": True, "amount": 0.1},
        "actor": None,
        "thread": None,
    }


def test_an_event_that_no_pattern_matches_is_called_unheard(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.relay.carry(
        [
            scene.accept("heard", kind="issues.opened", facts={"big": True}),
            scene.accept("small", kind="issues.opened", facts={"big": False}),
            scene.accept("other", kind="star"),
        ]
    )

    assert scene.unheard == {"github:small", "github:other"}
    assert metrics(capsys)["EventsUnheard"] == 2


def test_the_age_of_the_oldest_event_is_measured(
    scene: Scene, capsys: pytest.CaptureFixture[str]
) -> None:
    old = scene.accept("old", received_at=NOON - timedelta(seconds=90))

    scene.relay.carry([scene.accept("new"), old])

    assert metrics(capsys)["RelayAgeSeconds"] == 90


@pytest.mark.parametrize(
    "make",
    [
        lambda scene: scene.accept("1", ignored=True),
        lambda scene: scene.accept("1") | {"eventName": "MODIFY"},
        lambda scene: scene.accept("1") | {"eventName": "REMOVE", "dynamodb": {}},
        lambda _: record({"pk": "github:1", "sk": "run#triage", "via": "door"}),
        lambda _: record({"pk": "aws:s3:1", "sk": "event", "via": "queue"}),
        lambda _: record({"pk": "schedule#nightly", "sk": "state"}),
    ],
    ids=["ignored", "changed", "expired", "run", "from AWS", "schedule"],
)
def test_nothing_else_is_relayed(
    scene: Scene, make: Callable[[Scene], dict[str, Any]]
) -> None:
    scene.relay.carry([make(scene)])

    assert scene.bus.published == []
    assert scene.parked.reasons == {}
    assert scene.unheard == set()


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"kind": None}, "its row has no 'kind'"),
        ({"received_at": None}, "its row has no 'received_at'"),
        ({"received_at": "yesterday"}, "its row is malformed"),
        ({"facts": "{"}, "its row is malformed"),
        ({"facts": "[]"}, "its row is malformed: its facts are no object"),
        ({"facts": "[" * 100_000}, "its row is malformed"),
        ({"kind": "k" * 129}, "its kind has 129 characters; the bus takes 1 to 128"),
        ({"kind": ""}, "its kind has 0 characters"),
        ({"thread": "t" * 900_000}, "the bus takes 900000"),
    ],
)
def test_what_can_never_be_published_is_parked_and_holds_nobody_up(
    scene: Scene, broken: dict[str, Any], reason: str
) -> None:
    good = scene.accept("good")
    scene.accept("bad")
    row = scene.ledger.table.rows["github:bad", "event"] | broken
    bad = record({name: value for name, value in row.items() if value is not None})

    scene.relay.carry([bad, good])

    assert scene.bus.ids == ["github:good"]
    assert reason in scene.parked.reasons["github:bad"]


def test_what_the_bus_refuses_for_good_is_parked(scene: Scene) -> None:
    scene.bus.refused = {"github:2"}

    scene.relay.carry([scene.accept(name) for name in "123"])

    assert scene.bus.ids == ["github:1", "github:3"]
    assert scene.parked.reasons == {"github:2": "MalformedDetail: no"}


@pytest.mark.parametrize("failure", [Unavailable("busy"), Misconfigured("no bus")])
def test_any_other_failure_brings_the_whole_batch_again(
    scene: Scene, failure: Exception
) -> None:
    batch = [scene.accept("1"), scene.accept("2"), scene.accept("3", kind="star")]
    scene.bus.failures = [failure]

    with pytest.raises(type(failure)):
        scene.relay.carry(batch)
    scene.relay.carry(batch)

    assert set(scene.bus.ids) == {"github:1", "github:2", "github:3"}
    assert scene.parked.reasons == {}
    assert scene.unheard == {"github:3"}


def test_a_ledger_that_does_not_answer_brings_the_batch_again(scene: Scene) -> None:
    batch = [scene.accept("1", kind="star")]
    scene.ledger.table.failures = [Unavailable("busy")]

    with pytest.raises(Unavailable):
        scene.relay.carry(batch)
    scene.relay.carry(batch)

    assert scene.unheard == {"github:1"}


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}'])
def test_numbers_and_texts_that_few_parsers_take_are_softened(
    scene: Scene, text: str
) -> None:
    scene.accept("1")
    row = scene.ledger.table.rows["github:1", "event"] | {"facts": text}

    scene.relay.carry([record(row)])

    (entry,) = scene.bus.published
    assert json.loads(entry.text)["facts"] in ({"a": None}, {"a": "?"})


def metrics(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the metrics that were emitted, each with its last value."""
    found: dict[str, Any] = {}
    for line in capsys.readouterr().out.splitlines():
        told = json.loads(line)
        for group in told.get("_aws", {}).get("CloudWatchMetrics", []):
            for metric in group["Metrics"]:
                found[metric["Name"]] = told[metric["Name"]][0]
    return found
