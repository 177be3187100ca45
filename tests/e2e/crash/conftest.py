"""One stack of its own for everything that is killed, paused or starved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local import up
from local.home import Home
from local.stack import LocalStack
from tests.e2e.crash.acting import Acting, Misdeeds
from tests.e2e.crash.till import Order, Till

FLEET = Path(__file__).parent / "fleet.toml"


@pytest.fixture(scope="session")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The fleet of this folder, running."""
    home = Home(tmp_path_factory.mktemp("crash") / "local")
    with up.running(home, fleet=FLEET) as running:
        running.behave("/deaf.example", honours_keys=False)
        seconds = {"waiter": 20, "stranger": 20, "quitter": 20, "walker": 10}
        for agent, limit in seconds.items():
            # So that a busy machine ends no attempt, only we do. A lease still ends
            # five seconds before its message shows.
            running.client("lambda").update_function_configuration(
                FunctionName=running.functions[f"worker:{agent}"], Timeout=limit
            )
        yield running


@pytest.fixture(scope="session")
def misdeeds(kitchen: LocalStack, till: Till) -> Misdeeds:
    """The worst agents, begun early: their letters take a minute and more."""
    return Misdeeds.begun(kitchen, till)


@pytest.fixture(scope="session")
def marathon(kitchen: LocalStack, till: Till) -> Acting:
    """A run of six time limits' length, begun early."""
    return Acting(kitchen, till, Order.new("order.long"))


@pytest.fixture(scope="session")
def till(kitchen: LocalStack) -> Till:
    return Till(kitchen)
