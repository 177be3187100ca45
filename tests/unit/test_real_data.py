"""A test of captured data may be skipped only where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PLANTED = """
import pytest
from tests.real_data import used

@pytest.mark.real_data
@pytest.mark.parametrize("vector", [])
def test_finds_no_vector(vector): ...

def test_skips_what_it_does_not_like(fixtures):
    pytest.skip("too hard")

def test_uses_the_data(fixtures):
    used("vectors", 3)

def test_of_something_else():
    pytest.skip("needs a full moon")
"""


@pytest.mark.parametrize("workers", ["0", "2"], ids=["one process", "two workers"])
def test_skipped_test_fails_the_run_where_the_data_is(
    tmp_path: Path, workers: str
) -> None:
    data = tmp_path / "data"
    data.mkdir()

    output = run(tmp_path, data, workers)

    assert "1 failed, 1 passed, 1 skipped, 1 error" in output
    assert "real data: 3 vectors, 0 payloads, 0 calendars used" in output


def test_without_the_data_its_tests_are_skipped(tmp_path: Path) -> None:
    output = run(tmp_path, tmp_path / "absent", "0")

    assert "4 skipped" in output
    assert "failed" not in output
    assert "real data: none" in output


def run(folder: Path, data: Path, workers: str) -> str:
    planted = folder / "test_planted.py"
    planted.write_text(PLANTED)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n", workers]
    done = subprocess.run(
        [*command, "-c", ROOT / "pyproject.toml", "--rootdir", folder, planted],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "BELLHOP_FIXTURES": str(data)},
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{done.stdout}{done.stderr}"
