"""Synthesis for the local stack: the same app, the same code, done once per content."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from lambdas.shared import clock
from lambdas.shared import fleet as fleets
from lambdas.shared.fleet.lint import lint
from local.home import ROOT, LocalError
from stacks import agent_files, packaging

# Everything that the template and its assets depend on, beside the fleet.
_INPUTS = ("app.py", "cdk.json", "requirements.txt", "stacks", "lambdas", "agents")

# A synthesis is 4 MB; a few are kept for the demo, the tests and `make up`.
_KEPT = 6


def assembly(fleet: Path) -> Path:
    """Return the cloud assembly of ``fleet``, synthesised unless it is there.

    Raises:
        LocalError: the fleet or the stack is wrong; the app's own words are in it.
    """
    folder = ROOT / ".build" / f"synth-{_digest(fleet)}"
    if (folder / "manifest.json").is_file():
        folder.touch()
        return folder
    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        _synthesise(fleet, draft)
        if not folder.exists():
            draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    _forget_oldest(folder.parent)
    return folder


def warnings(fleet: Path) -> list[str]:
    """Return what the app says on the way, also of a fleet that is synthesised."""
    loaded = fleets.load(fleet)
    told = lint(loaded, clock.now(), name=fleet.name)
    return [*told, *agent_files.faults(loaded, fleet)]


def _synthesise(fleet: Path, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env=_environment(fleet, folder),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise LocalError("the stack does not synthesise:\n" + "\n".join(words[-30:]))


def _environment(fleet: Path, folder: Path) -> dict[str, str]:
    # The CDK command line hands over what cdk.json holds; without it, so do we.
    context = json.loads((ROOT / "cdk.json").read_text()).get("context", {})
    return {
        **os.environ,
        "BELLHOP_FLEET": str(fleet.resolve()),
        "CDK_OUTDIR": str(folder),
        "CDK_CONTEXT_JSON": json.dumps(context),
        # The validation engine takes most of the time; .ci/run validates.
        "CDK_VALIDATION": "false",
    }


def _digest(fleet: Path) -> str:
    total = hashlib.sha256(f"{sys.version} {fleet.resolve()}".encode())
    for path in [*_files(packaging.own_agents(fleet)), fleet]:
        if not path.is_file():
            raise LocalError(f"{path}: no such file")
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path} {content}\n".encode())
    return total.hexdigest()[:12]


def _files(own_agents: Path | None) -> Iterator[Path]:
    places = [ROOT / name for name in _INPUTS]
    for path in [*places, *([own_agents] if own_agents else [])]:
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in found:
            if file.is_dir() or file.suffix == ".pyc":
                continue
            yield file


def _forget_oldest(build: Path) -> None:
    """Keep the newest; one that another process uses was touched just now."""
    found = sorted(build.glob("synth-*"), key=lambda path: path.stat().st_mtime)
    for folder in found[:-_KEPT]:
        shutil.rmtree(folder, ignore_errors=True)
