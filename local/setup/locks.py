"""Locks: every transitive version, with hashes where it ships to AWS."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from local.setup.shell import run, say
from stacks.packaging import ROOT, SETS, lock_of

# Locks hold for every interpreter from the oldest we support.
_OLDEST_PYTHON = "3.11"


def lock(
    uv: Path, requirements: Path, environ: Mapping[str, str], *, anew: bool
) -> None:
    """Write the lock of ``requirements``, unless it is already that of this text.

    ``anew`` takes the newest versions that the pins allow; otherwise what
    the old lock says is kept where it still fits.
    """
    locked = lock_of(requirements)
    first = f"# Locked by `make lock` from {_print_of(requirements)}: do not edit.\n"
    was = locked.read_text() if locked.exists() else ""
    if was.startswith(first) and not anew:
        return
    say(f"set-up: locking {requirements.relative_to(ROOT)}")
    options = ["--universal", "--python-version", _OLDEST_PYTHON, "--no-header"]
    options += ["--quiet", "--no-annotate", "--output-file", str(locked)]
    if requirements in SETS.values():
        options.append("--generate-hashes")
    if anew:
        options.append("--upgrade")
    name = requirements.relative_to(ROOT)
    run([uv, "pip", "compile", *options, requirements], f"locking {name}", environ)
    locked.write_text(first + locked.read_text())


def _print_of(requirements: Path) -> str:
    """Return a short hash of a requirements file and of those that it includes."""
    total = hashlib.sha256()
    for line in requirements.read_text().splitlines():
        wanted = line.split("#")[0].strip()
        if wanted.startswith("-r "):
            total.update(_print_of(ROOT / wanted[3:].strip()).encode())
        elif wanted:
            total.update(f"{wanted}\n".encode())
    return total.hexdigest()[:12]
