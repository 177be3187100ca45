"""A sender is added to a copy of the project by new files alone, and all tests hold."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/howto/add-a-sender.md"
NEEDED = ("lambdas", "cli", "tests", "pyproject.toml")

SIGNER = '''"""A café: HMAC over the body."""

from __future__ import annotations

from cli.signers.draft import Delivery, Draft


def sign(draft: Draft) -> Delivery:
    """Sign as the counter does."""
    return draft.send({"X-Cafe-Signature": draft.hex(draft.body)})
'''
SAMPLE = '{"id": "{{id}}", "type": "order.placed", "order": {"table": 7}}\n'


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project's code, and in it a sender that nobody had."""
    for name in NEEDED:
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(
                place, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(place, tmp_path / name)
    page = PAGE.read_text(encoding="utf-8")
    (module,) = re.findall(r"```python\n(.*?)```", page, re.S)
    module = re.sub(r"^   ", "", module, flags=re.M)
    assert len(module.splitlines()) <= 30
    new = {
        "lambdas/receiver/senders/cafe.py": module,
        "cli/signers/cafe.py": SIGNER,
        "cli/samples/cafe/order.placed.json": SAMPLE,
    }
    for name, text in new.items():
        file = tmp_path / name
        assert not file.exists()
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


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


def test_everything_that_holds_for_all_holds_for_a_new_sender(copy: Path) -> None:
    told = pytest_in(
        copy, "tests/unit/receiver/test_every_sender.py", "-k", "cafe", "-v"
    )

    (passed,) = re.findall(r"(\d+) passed", told)
    assert int(passed) > 40
    assert "test_signed_sample_is_accepted_once" in told
    assert "test_hostile_proof_is_refused[cafe-x-cafe-signature-not ascii]" in told


def test_its_table_is_all_that_the_fleet_needs(copy: Path) -> None:
    program = (
        "from lambdas.shared import fleet, senders;"
        "found = fleet.parse('[sources.cafe]', find_traits=senders.traits);"
        "print(found.sources['cafe'].sender, fleet.__file__)"
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
