"""The demo is what people see first: it must hold, and say where it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local.demo.telling import Telling
from local.home import ROOT

_ENVIRONMENT = {"PATH", "HOME", "JSII_NODE", "TMPDIR"}


def test_demo_holds_and_leaves_only_its_logs(tmp_path: Path) -> None:
    folder = tmp_path / "local"

    told = subprocess.run(
        [sys.executable, "-m", "local", "demo", "--folder", folder],
        cwd=ROOT,
        env={k: os.environ[k] for k in _ENVIRONMENT if k in os.environ},
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 0, told.stdout + told.stderr
    assert "exit -9" in told.stdout
    assert [path.name for path in folder.iterdir()] == ["logs"]


def test_sentence_that_does_not_hold_is_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    telling = Telling()

    telling.check("water is wet", True)
    telling.check("water is dry", False)

    assert telling.failures == ["water is dry"]
    assert "NOT  water is dry" in capsys.readouterr().out
