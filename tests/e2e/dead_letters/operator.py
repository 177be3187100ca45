"""An operator at a terminal: `bellhop` as a process that can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from local.home import ROOT, Home
from tests.e2e.dead_letters.conftest import FLEET

_PROGRAM = "from cli.main import app; app()"


def start(home: Home, *words: str) -> subprocess.Popen[str]:
    """Start `bellhop`, at the stack under ``home``, answering in JSON."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *words, "--local", "--json"],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home.folder),
            "BELLHOP_LOCAL_FOLDER": str(home.folder),
            "BELLHOP_FLEET": str(FLEET),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, Any]:
    """Return the exit code, and what it answered."""
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err, err
    return process.returncode, json.loads(out or err)


def run(home: Home, *words: str) -> tuple[int, Any]:
    """Run `bellhop` to its end."""
    return ended(start(home, *words))
