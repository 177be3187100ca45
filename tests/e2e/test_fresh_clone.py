"""A fresh clone in an empty environment sets itself up, once."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_fresh_clone_is_set_up_by_one_command_and_only_once(
    tmp_path: Path, full_size: bool
) -> None:
    if not full_size:
        pytest.skip("needs the package index: part of `make prove`")
    clone, home = tmp_path / "clone", tmp_path / "home"
    home.mkdir()
    git = shutil.which("git") or "git"
    subprocess.run([git, "clone", "--quiet", ROOT, clone], check=True)

    first = make_setup(clone, home)
    began = time.monotonic()
    second = make_setup(clone, home)
    took = time.monotonic() - began

    assert "installing requirements.lock into .venv" in first
    assert second == ""
    assert took < 1
    assert (
        "?"
        not in subprocess.run(
            [git, "-C", clone, "status", "--short"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    help_text = subprocess.run(
        [clone / ".venv/bin/bellhop", "--help"],
        cwd=home,
        env={},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "send" in help_text


def make_setup(clone: Path, home: Path) -> str:
    make = shutil.which("make") or "make"
    done = subprocess.run(
        [make, "setup"],
        cwd=clone,
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
