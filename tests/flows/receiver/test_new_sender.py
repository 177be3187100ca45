"""A sender is added to a copy of the project by new files alone, and all tests hold."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/howto/add-a-sender.md").read_text(encoding="utf-8")
NEEDED = ("lambdas", "cli", "agents", "local", "stacks", "tests", "docs")

_STEP = re.compile(r"\*\*`(\S+)`\*\*(.*?)```\w+\n(.*?)```", re.S)


def told() -> dict[str, str]:
    """Return every file that the page names, with what it says is in it."""
    steps = _STEP.findall(PAGE)
    return {name: re.sub(r"^   ", "", text, flags=re.M) for name, _, text in steps}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's code, and in it a sender that nobody had, as the page says."""
    folder = tmp_path_factory.mktemp("copy")
    for name in NEEDED:
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "app.py", "fleet.toml"):
        shutil.copy(ROOT / name, folder / name)
    for name, text in told().items():
        file = folder / name
        if file.name == "fleet.toml":
            text = file.read_text(encoding="utf-8") + "\n" + text
        else:
            assert not file.exists()
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def pytest_in(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def test_page_asks_for_three_small_files_and_a_table() -> None:
    files = told()

    assert list(files) == [
        "lambdas/receiver/senders/cafe.py",
        "cli/signers/cafe.py",
        "cli/samples/cafe/order.placed.json",
        "fleet.toml",
    ]
    assert len(files["lambdas/receiver/senders/cafe.py"].splitlines()) <= 30


def test_everything_that_holds_for_all_holds_for_a_new_sender(copy: Path) -> None:
    output = pytest_in(
        copy, "tests/unit/receiver/test_every_sender.py", "-k", "cafe", "-v"
    )

    (passed,) = re.findall(r"(\d+) passed", output)
    assert int(passed) > 40
    assert "test_signed_sample_is_accepted_once" in output
    assert "test_hostile_proof_is_refused[cafe-x-cafe-signature-not ascii]" in output


def test_its_page_is_written_and_its_table_is_all_that_the_fleet_needs(
    copy: Path,
) -> None:
    program = (
        "from lambdas.shared import fleet;"
        "found = fleet.load();"
        "print(found.sources['cafe'].sender, fleet.__file__);"
        "from local import pages; pages.write()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=copy,
        capture_output=True,
        text=True,
        check=True,
    )

    sender, file = done.stdout.split()
    assert sender == "cafe"
    assert Path(file).is_relative_to(copy)
    page = (copy / "docs/reference/senders/cafe.md").read_text(encoding="utf-8")
    assert page.startswith("# Cafe\n")
    assert "bellhop send cafe order.placed --local" in page
