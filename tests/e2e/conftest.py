"""The local stacks of the end-to-end tests, beside whatever else runs here."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import up
from local.demo.story import FLEET
from local.home import ROOT, Home
from local.stack import LocalStack

# Scenes assert, too, in modules that are no tests.
pytest.register_assert_rewrite("tests.e2e.long")


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The demo's fleet, running; each test looks at events of its own only."""
    home = Home(tmp_path_factory.mktemp("stack") / "local")
    with up.running(home, fleet=FLEET) as running:
        yield running


@pytest.fixture(scope="session")
def whole_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Generic senders, large bodies, and the agents of the page on AWS's events."""
    folder = tmp_path_factory.mktemp("whole-door")
    shutil.copytree(Path(__file__).with_name("whole_door"), folder, dirs_exist_ok=True)
    page = (ROOT / "docs/howto/hear-aws-events.md").read_text(encoding="utf-8")
    fleet = folder / "fleet.toml"
    own = fleet.read_text(encoding="utf-8")
    tables = re.findall(r"^```toml\n(.*?)^```$", page, re.M | re.S)
    fleet.write_text("\n".join([own, *tables]), encoding="utf-8")
    with up.running(Home(folder / "local"), fleet=fleet) as running:
        yield running
