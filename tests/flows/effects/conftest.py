"""Effects against services on a loopback port, as a worker would send them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agents.effects import google_calendar
from lambdas.shared.outside import WORLD_URL_VARIABLE
from tests.fakes.google import service_account
from tests.fakes.services import serving
from tests.fakes.world import TOKEN, Attempt, World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    world = World()
    google_calendar._tokens.forget()
    with serving(world):
        monkeypatch.setenv(WORLD_URL_VARIABLE, world.url)
        yield world


@pytest.fixture
def run() -> Attempt:
    services = ("github", "slack", "linear", "stripe", "shop")
    secrets = {f"bellhop/{name}-token": TOKEN for name in services}
    return Attempt({**secrets, "bellhop/google-calendar": service_account()})
