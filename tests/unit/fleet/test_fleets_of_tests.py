"""Every fleet that a test deploys can be read, in seconds rather than minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lambdas.shared.fleet import load

TESTS = Path(__file__).resolve().parents[2]
FLEETS = sorted(TESTS.rglob("fleet.toml"))


@pytest.mark.parametrize("fleet", FLEETS, ids=lambda f: str(f.relative_to(TESTS)))
def test_fleet_of_an_end_to_end_test_is_a_good_one(fleet: Path) -> None:
    assert load(fleet).agents
