"""What a page of the documentation tells to write and to run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from local.home import ROOT

# A step names its file in bold type.
_FILE = re.compile(r"\*\*`([^`]+)`\*\*.*?\n\s*```\w+\n(.*?)\n\s*```", re.S)


def files_of(page: str) -> dict[str, str]:
    """Return what the steps of a page say to write, by where."""
    steps = re.split(r"^\d\. ", page, flags=re.M)[1:]
    found = [match.groups() for step in steps if (match := _FILE.match(step))]
    return {path: textwrap.dedent(block) + "\n" for path, block in found}


def write(folder: Path, page: str) -> list[str]:
    """Write what a page says into ``folder``; return the names, in its order."""
    files = files_of(page)
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return list(files)


def follow(folder: Path, block: str) -> str:
    """Run a block of commands as somebody would who stands in ``folder``."""
    done = subprocess.run(
        ["/bin/sh", "-euc", block],
        cwd=folder,
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "BELLHOP_FLEET": str(folder / "fleet.toml"),
            "BELLHOP_LOCAL_FOLDER": str(folder / ".local"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
    return done.stdout
