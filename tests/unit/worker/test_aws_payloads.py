"""Captured events of AWS: each is written down, read back and told in one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agents.incident_responder import describe
from lambdas.shared.event import Event
from lambdas.worker.claim import Verdict
from tests import real_data
from tests.fakes.worker import Rig, record

FOLDERS = ("eventbridge", "aws-lambda-events", "cloudwatch")


def captured() -> Iterator[Any]:
    """Yield what EventBridge could have put on a queue."""
    if real_data.ROOT is None:
        return
    for folder in FOLDERS:
        for path in sorted((real_data.ROOT / "payloads" / folder).glob("*.json")):
            try:
                told = json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                continue
            if isinstance(told, dict) and {"source", "detail-type", "id"} <= set(told):
                yield pytest.param(told, id=path.stem)


@pytest.mark.real_data
@pytest.mark.parametrize("envelope", list(captured()))
def test_captured_event_is_one_event_with_its_payload(envelope: Any) -> None:
    real_data.used("payloads")
    seen: list[Event] = []
    rig = Rig(lambda event, _: seen.append(event))

    verdicts = [rig.take(record(envelope, message_id=name)) for name in ("m1", "m2")]

    assert verdicts == [Verdict.SUCCEEDED, Verdict.ACKNOWLEDGED]
    (event,) = seen
    assert event.id == f"aws:{envelope['source']}:{envelope['id']}"
    assert event.payload == envelope
    line = describe(event.kind, event.payload)
    assert line.startswith(envelope["detail-type"])
    assert "\n" not in line


@pytest.mark.real_data
def test_there_is_enough_captured() -> None:
    if real_data.ROOT is None:
        pytest.skip(real_data.WHY_ABSENT)

    assert len(list(captured())) >= 40
