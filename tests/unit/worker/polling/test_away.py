"""What an agent left is taken away at any depth, and nothing beside it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from lambdas.worker.polling.away import remove


def test_folder_deeper_than_one_may_call_oneself_is_taken_away(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(sys.getrecursionlimit() + 100):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)

    remove(top)

    assert list(tmp_path.iterdir()) == []


def test_all_that_a_folder_holds_goes_and_what_it_links_to_stays(
    tmp_path: Path,
) -> None:
    other = tmp_path / "other"
    (other / "inner").mkdir(parents=True)
    (other / "kept").touch()
    top = tmp_path / "top"
    for name in ("a/b/c", "a/d", ".1"):
        (top / name).mkdir(parents=True)
        (top / name / "file").touch()
        (top / name / "link").symlink_to(other)
    (top / "broken").symlink_to("nowhere")
    (top / "a").chmod(0)

    remove(top)
    remove(top)

    assert list(tmp_path.iterdir()) == [other]
    assert sorted(each.name for each in other.iterdir()) == ["inner", "kept"]


@pytest.mark.parametrize("kind", ["file", "link"])
def test_file_or_link_goes_by_itself(tmp_path: Path, kind: str) -> None:
    place, kept = tmp_path / "place", tmp_path / "kept"
    kept.mkdir()
    if kind == "file":
        place.touch()
    else:
        place.symlink_to(kept)

    remove(place)

    assert list(tmp_path.iterdir()) == [kept]
