"""What a worker leaves that is stopped, killed, paused, or whose agent misbehaves."""

from __future__ import annotations

import time
from concurrent.futures import Future

import pytest

from local.home import Home
from local.stack import LocalStack
from tests.e2e.crash.till import Till
from tests.e2e.long.cast import CAST
from tests.e2e.long.scene import play_all


@pytest.fixture(scope="module")
def played(
    home: Home,
    mine: LocalStack,
    mine_till: Till,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Future[None]]:
    began = time.monotonic()
    played = play_all(CAST, home, mine, mine_till, tmp_path_factory.mktemp("scenes"))
    print(f"{len(played)} scenes played in {time.monotonic() - began:.0f} s")
    return played


@pytest.mark.parametrize("sentence", [cast.sentence for cast in CAST])
def test_scene_ends_as_its_sentence_says(
    played: dict[str, Future[None]], sentence: str
) -> None:
    played[sentence].result()
