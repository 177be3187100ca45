"""Captured bodies, rightly signed, come through whole."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from cli import signers
from lambdas.shared import senders
from tests import real_data
from tests.unit.receiver import signed
from tests.unit.receiver.door import NOW, SECRET, Call, Door

# Whole captures of what these really send; of the others the folders hold parts.
WHOLE = ("github", "pagerduty", "sentry", "shopify", "stripe")


@pytest.mark.parametrize("sender", WHOLE)
def test_every_captured_body_is_accepted_unchanged(sender: str, fixtures: Path) -> None:
    sign = importlib.import_module(f"cli.signers.{sender}").sign
    bodies = sorted((fixtures / "payloads" / sender).glob("*.json"))
    assert sender in senders.names()

    for number, path in enumerate(bodies):
        door: Door = signed.door(sender)
        draft = signers.Draft(
            event=re.sub(r"__?", ".", path.stem),
            body=path.read_bytes(),
            secret=SECRET,
            at=NOW,
            id=f"delivery-{number}",
        )
        delivery = sign(draft)

        heard = door.knock(
            Call(headers=delivery.headers, body=delivery.body, base64=True)
        )

        assert heard.status == 200, (path.name, heard)
        (event,) = door.accepted
        assert event.body == path.read_bytes()
        assert event.payload is not None
    real_data.used("payloads", len(bodies))
    assert bodies
