"""Whatever order things happen in, a run has its effects once and is never lost."""

from __future__ import annotations

import importlib
import secrets
from pathlib import Path

import pytest

from tests.model.__main__ import read
from tests.model.cases import play
from tests.model.hunting import FAULTS, Hunt, Result, hunt_all
from tests.model.system import Move

FOUND = sorted((Path(__file__).parent / "found").glob("*.txt"))
# Four times what the slowest to be found needs; most need a few dozen.
CASES_PER_FAULT = 5_000


def told(results: list[Result]) -> str:
    return "\n\n".join(str(r.failure) for r in results if r.failure is not None)


def test_random_interleavings_break_no_rule(
    full_size: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same cases every day; in full size other ones each time."""
    cases, seed = (10_000, secrets.randbelow(10**9)) if full_size else (600, 0)
    part = cases // 10
    hunts = [Hunt(seed=seed + n, cases=part) for n in range(0, cases, part)]

    results = list(hunt_all(hunts))

    played = sum(result.played for result in results)
    with capsys.disabled():
        print(f"\nmodel of the run: {played} interleavings from seed {seed}")
    assert told(results) == ""
    assert played == cases


def test_model_finds_every_planted_fault(capsys: pytest.CaptureFixture[str]) -> None:
    hunts = [Hunt(seed=0, cases=CASES_PER_FAULT, fault=fault) for fault in FAULTS]

    results = list(hunt_all(hunts))

    found = [result for result in results if result.failure is not None]
    with capsys.disabled():
        print()
        for result in results:
            rule = result.failure.rule if result.failure else "NOT FOUND"
            print(f"{result.hunt.fault:<36}case {result.played:>4}  {rule}")
        print(f"planted faults: {len(found)} of {len(results)} found")
    assert [result.hunt.fault for result in found] == FAULTS
    assert len(FAULTS) >= 8


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_once_stays_mended(path: Path) -> None:
    assert play(*read(path.read_text().splitlines())) == ""


@pytest.mark.parametrize("fault", sorted({path.stem for path in FOUND} & {*FAULTS}))
def test_what_was_found_once_is_found_where_it_is_not_mended(fault: str) -> None:
    """A script counts calls: it must not come to mean another case unseen."""
    (path,) = (path for path in FOUND if path.stem == fault)
    with pytest.MonkeyPatch.context() as patch:
        importlib.import_module(f"tests.model.faults.{fault}").plant(patch)
        assert play(*read(path.read_text().splitlines())) != ""


@pytest.mark.parametrize("line", ["send e1", "go m1/1 4", "wait 18000", "redrive m2"])
def test_move_is_read_as_it_is_printed(line: str) -> None:
    assert str(Move.read(line)) == line
