"""Every ready-made effect in the local stack's outside world: happens, and is found."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.effects import linear
from lambdas.shared.outside import WORLD_URL_VARIABLE
from local.world import WorldServer
from tests.fakes.world import OPERATION, Attempt
from tests.flows.effects.test_sent_once import CASES, Case


@pytest.fixture
def local_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[WorldServer]:
    server = WorldServer(tmp_path / "wire")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    monkeypatch.setenv(WORLD_URL_VARIABLE, server.url)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    "case",
    CASES,
    ids=lambda case: f"{case.effect.__module__[15:]}.{case.effect.__name__}",
)
def test_effect_happens_in_the_local_world_and_is_found_there(
    case: Case, local_world: WorldServer, run: Attempt
) -> None:
    sent = case.send(run)

    assert case.send_again(run) == sent
    (effect,) = local_world.world.effects()
    # Linear knows it as a UUID of version 4, which keeps 122 of its 128 bits.
    as_uuid = uuid.UUID(hex=OPERATION, version=4).hex
    is_linear = case.effect is linear.comment
    assert effect["operation_id"] == (as_uuid if is_linear else OPERATION)
    assert effect["count"] == 1
