"""One stack whose agents die in every way, with 500 dead letters planted in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.target import Target, find
from local import up
from local.home import Home
from local.stack import LocalStack

FLEET = Path(__file__).with_name("fleet.toml")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("dead-letters") / "local")


@pytest.fixture(scope="session")
def shop(home: Home) -> Iterator[LocalStack]:
    """Four agents that share a till, and a digest."""
    with up.running(home, fleet=FLEET) as running:
        yield running


@pytest.fixture
def target(shop: LocalStack, home: Home, monkeypatch: pytest.MonkeyPatch) -> Target:
    """The same stack as the command line sees it."""
    monkeypatch.setenv("BELLHOP_LOCAL_FOLDER", str(home.folder))
    monkeypatch.setenv("BELLHOP_FLEET", str(FLEET))
    return find(local=True, stack=None, profile=None, region=None)
