"""One local stack for all end-to-end tests, beside whatever else runs here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local import up
from local.demo.story import FLEET
from local.home import Home
from local.stack import LocalStack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """The demo's fleet, running; each test looks at events of its own only."""
    home = Home(tmp_path_factory.mktemp("stack") / "local")
    with up.running(home, fleet=FLEET) as running:
        yield running
