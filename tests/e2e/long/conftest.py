"""A stack of its own, without workers: each test starts, kills and stops its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local import up
from local.home import Home
from local.stack import LocalStack
from tests.e2e.crash.till import Till
from tests.e2e.long.crew import Crew

FLEET = Path(__file__).with_name("fleet.toml")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Where the stack lives."""
    return Home(tmp_path_factory.mktemp("long") / "local")


@pytest.fixture(scope="session")
def mine(home: Home) -> Iterator[LocalStack]:
    """The fleet of this folder, running."""
    with up.running(home, fleet=FLEET, working=False) as running:
        yield running


@pytest.fixture(scope="session")
def mine_till(mine: LocalStack) -> Till:
    """The sender of the orders."""
    return Till(mine)


@pytest.fixture
def crew(home: Home, mine: LocalStack, tmp_path: Path) -> Iterator[Crew]:
    """Workers of this test; what is left of them at its end is ended."""
    with Crew(home, mine, tmp_path) as crew:
        yield crew
