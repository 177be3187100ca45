"""A stack without workers: each scene starts, kills and stops its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import up
from local.home import Home
from local.stack import LocalStack
from tests.e2e.crash.till import Till
from tests.e2e.long.cast import CAST
from tests.e2e.long.crew import Crew

_SOON, _LATE = "heartbeat_seconds = 4", "heartbeat_seconds = 30"
# What an agent of each kind has beside its name; with short times.
_KINDS = {
    # Digs its steps one after another; asks nothing.
    "digs": f"{_SOON}\nstall_seconds = 30\ngrace_seconds = 5\nmax_receives = 10",
    # The same, where it matters that a message is given back, and not merely shown
    # when its visibility is over: that is 90 s here.
    "holds": f"{_LATE}\nstall_seconds = 30\ngrace_seconds = 5\nmax_receives = 10",
    # Saves how far it has come, and hands over when it is asked to.
    "delves": f"{_SOON}\nstall_seconds = 30\ngrace_seconds = 10\nmax_receives = 3",
    # Does what its order says; most of it bad.
    "mines": f"{_SOON}\nstall_seconds = 60\ngrace_seconds = 2\nmax_receives = 3",
    # The same, where being seen to stall is what the order is about.
    "stalls": f"{_SOON}\nstall_seconds = 5\ngrace_seconds = 2\nmax_receives = 3",
    "lingers": f"{_LATE}\nstall_seconds = 60\ngrace_seconds = 2\nmax_receives = 3",
}
_ALONE = {"chaos": "digs", "outage": "digs", "terminal": "digs"}

_HEAD = '[sources.till]\nsender = "standard-webhooks"\n'
_AGENT = """
[agents.{name}]
run = "agents.mine:{kind}"
on = [{{ source = "till", kind = "order.{name}" }}]
compute = "fargate"
backoff_base_seconds = 1
backoff_max_seconds = 1
{keys}
"""


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Where the stack lives."""
    return Home(tmp_path_factory.mktemp("long") / "local")


@pytest.fixture(scope="session")
def mine(home: Home) -> Iterator[LocalStack]:
    """One agent for each scene, and nobody who works for it yet."""
    folder = home.folder.parent
    shutil.copytree(Path(__file__).with_name("agents"), folder / "agents")
    agents = _ALONE | {cast.agent: cast.does for cast in CAST}
    tables = [
        _AGENT.format(name=name, kind=kind, keys=_KINDS[kind])
        for name, kind in agents.items()
    ]
    fleet = folder / "fleet.toml"
    fleet.write_text("".join([_HEAD, *tables]), encoding="utf-8")
    with up.running(home, fleet=fleet, working=False) as running:
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
