"""What a function's zip holds: locked sets of dependencies, our code, the fleet.

`make deps` (part of every set-up) installs the sets into ``.build``; synthesis
only points there, so that it needs neither a network nor Docker. A set is
built twice: for AWS, and for this machine, where the local engine runs the
same functions on its own interpreter.

This module needs nothing but Python: the set-up imports it too.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lambdas.shared.errors import Misconfigured

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".build"

# Each set's requirements; the lock of NAME.txt is NAME.lock beside it.
SETS = {
    "core": ROOT / "lambdas/requirements/core.txt",
    "senders": ROOT / "lambdas/requirements/senders.txt",
    "zones": ROOT / "lambdas/requirements/zones.txt",
    "calendars": ROOT / "lambdas/requirements/calendars.txt",
    "feeds": ROOT / "lambdas/requirements/feeds.txt",
    "container": ROOT / "lambdas/requirements/container.txt",
    "agents": ROOT / "agents/requirements.txt",
}

# Changes whenever local/setup/deps.py builds something else from the same lock.
_RECIPE = b"4"

# Changes whenever stage() puts something else together from the same files.
_STAGING = b"6"

# Left out of every asset: what the dev machine made, what only set-up reads.
_LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "*.pyc", "*.pyi", ".*", "requirements", "requirements.*", "tests"
)

# What is started only with a set; without its libraries some could not be imported.
_ALONE = {
    "calendars": ("planner",),
    "container": ("worker/polling",),
    "feeds": ("poller",),
    "zones": ("cron", "watcher"),
}

_SENDER_IMPORT = re.compile(r"lambdas\.receiver\.senders\.(\w+)")

_KEPT_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True)
class Target:
    """Where a build runs: ``python`` is major.minor, ``architecture`` CDK's word."""

    python: str
    architecture: str

    def __str__(self) -> str:
        """Return what folder names say of it."""
        return f"python{self.python}-{self.architecture}"


# The one place that says what the functions run on: Graviton costs a fifth less.
AWS = Target("3.13", "arm64")

_ARCHITECTURES = {"aarch64": "arm64", "arm64": "arm64"}

HERE = Target(
    f"{sys.version_info[0]}.{sys.version_info[1]}",
    _ARCHITECTURES.get(platform.machine(), "x86_64") + f"-{sys.platform}",
)


def lock_of(requirements: Path) -> Path:
    """Return the file that pins, with hashes, all that ``requirements`` brings."""
    return requirements.with_suffix(".lock")


def folder(name: str, target: Target = AWS) -> Path:
    """Return where the set ``name`` is installed, whether or not it is there yet."""
    lock = lock_of(SETS[name]).read_bytes()
    digest = hashlib.sha256(_RECIPE + lock).hexdigest()[:12]
    return BUILD / f"{name}-{digest}-{target}"


def installed(name: str, target: Target = AWS) -> Path:
    """Return the folder of the set ``name``.

    Raises:
        Misconfigured: it is not built; the message is the command to run.
    """
    path = folder(name, target)
    if not path.is_dir():
        raise Misconfigured(
            f"the dependencies '{name}' for {target} are not built: run `make deps`"
        )
    return path


@functools.cache
def compiler(target: Target) -> Path | None:
    """Return an interpreter of the target's version on this machine, if there is one.

    Byte-code is the same on every architecture, so the version is all that counts.
    """
    if target.python == HERE.python:
        return Path(sys.executable)
    command = f"python{target.python}"
    for place in _places(target.python):
        candidate = place / command
        if candidate.is_file() and _runs(candidate, target.python):
            return candidate
    return None


def _places(version: str) -> Iterator[Path]:
    """Yield the folders to look in: PATH, and what pyenv keeps beside its shims."""
    places = [Path(text) for text in os.environ.get("PATH", "").split(os.pathsep)]
    yield from places
    roots = [place.parent for place in places if place.name == "shims"]
    for root in [*roots, Path.home() / ".pyenv"]:
        yield from sorted(root.glob(f"versions/{version}*/bin"), reverse=True)


def _runs(python: Path, version: str) -> bool:
    """Say whether ``python`` starts: a pyenv shim may stand for nothing."""
    print_version = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run(  # noqa: S603 - a file named python3.x found on PATH
        [python, "-c", print_version], capture_output=True, text=True, check=False
    )
    return done.returncode == 0 and done.stdout.strip() == version


def compile_folder(path: Path, python: Path) -> None:
    """Put byte-code beside every source under ``path``.

    /var/task is read-only: without it every cold start compiles anew. It is
    bound to its source by hash and never checked, since times are lost in a zip.
    """
    quietly = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    subprocess.run(  # noqa: S603 - this machine's own interpreter
        [python, *quietly, "-s", path, "-p", "/var/task", path],
        check=True,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONHASHSEED": "0"},
    )


def stage(sets: Iterable[str], fleet_path: Path, *, local: bool = False) -> Path:
    """Return a folder with all that a function needs, named after what is in it.

    ``core`` is always part of it; ``agents/`` goes only where the set
    ``agents`` does, so that a changed agent leaves the receiver alone; a folder
    ``agents`` beside a fleet file that lies elsewhere is added to it. The
    fleet file lies in it as ``fleet.toml``. Equal content gives the same
    folder; it is built aside and then renamed, so that two processes may
    stage at once.

    Raises:
        Misconfigured: a set is not built, or the fleet file is not there.
    """
    target = HERE if local else AWS
    names = ["core", *sorted(set(sets) - {"core"})]
    dependencies = [installed(name, target) for name in names]
    if not fleet_path.is_file():
        raise Misconfigured(f"{fleet_path}: no such file")
    code = ["lambdas", *(["agents"] if "agents" in names else [])]
    python = compiler(target)

    own = own_agents(fleet_path) if "agents" in names else None
    digest = _digest(dependencies, code, fleet_path, own, compiled=python is not None)
    asset = BUILD / f"asset-{'-'.join(names)}-{digest}"
    if asset.is_dir():
        os.utime(asset)  # still in use: see drop_old_assets
        return asset
    aside = Path(tempfile.mkdtemp(prefix="staging-", dir=BUILD))
    for dependency in dependencies:
        shutil.copytree(dependency, aside, copy_function=link, dirs_exist_ok=True)
    unused = unused_senders(fleet_path)
    for name in _ALONE.keys() - set(names):
        unused |= {ROOT / "lambdas" / package for package in _ALONE[name]}
    left_out = _without(unused)
    for package in code:
        shutil.copytree(ROOT / package, aside / package, ignore=left_out)
        if package == "agents" and own is not None:
            shutil.copytree(own, aside / package, ignore=_LEFT_OUT, dirs_exist_ok=True)
        if python is not None:
            _compile_package(aside, package, python)
    shutil.copyfile(fleet_path, aside / "fleet.toml")
    aside.chmod(0o755)
    return put_in_place(aside, asset)


def unused_senders(fleet_path: Path) -> set[Path]:
    """Return the senders' modules that no source of the fleet needs.

    There are too many for every function's zip. One that a needed module
    imports is needed, too.
    """
    folder = ROOT / "lambdas/receiver/senders"
    tables = tomllib.loads(fleet_path.read_text(encoding="utf-8")).get("sources", {})
    wanted = [str(t.get("sender", name)) for name, t in tables.items()]
    wanted = [name.replace("-", "_") for name in wanted]
    needed = {folder / "__init__.py"}
    while wanted:
        path = folder / f"{wanted.pop()}.py"
        if path not in needed and path.is_file():
            needed.add(path)
            wanted += _SENDER_IMPORT.findall(path.read_text(encoding="utf-8"))
    return set(folder.glob("*.py")) - needed


def _without(paths: set[Path]) -> Callable[[str, list[str]], set[str]]:
    def ignored(folder: str, names: list[str]) -> set[str]:
        ours = {name for name in names if Path(folder, name) in paths}
        return ours | _LEFT_OUT(folder, names)

    return ignored


def own_agents(fleet_path: Path) -> Path | None:
    """Return the agents that a fleet of the demo or of a test brings along."""
    folder = fleet_path.resolve().parent / "agents"
    return folder if folder.is_dir() and folder != ROOT / "agents" else None


def link(source: str, copy: str) -> None:
    """Put a file at ``copy`` as well, without a copy where the disk allows that."""
    # Two sets may bring the same file: never write into what is linked already.
    Path(copy).unlink(missing_ok=True)
    try:
        os.link(source, copy)
    except FileExistsError:  # two sets hold the same locked package
        return
    except OSError:  # some mounts have no hard links
        shutil.copy2(source, copy)


def drop_old_assets() -> None:
    """Remove what was staged, or left half staged, and not asked for in a week."""
    week_ago = time.time() - _KEPT_SECONDS
    for path in BUILD.glob("*-*"):
        is_staged = path.name.startswith(("asset-", "image-", "staging-", "building-"))
        if is_staged and path.stat().st_mtime < week_ago:
            shutil.rmtree(path, ignore_errors=True)


def put_in_place(aside: Path, path: Path) -> Path:
    """Rename ``aside`` to ``path``; where another process was first, keep its."""
    try:
        aside.rename(path)
    except OSError:
        if not path.is_dir():
            raise
        shutil.rmtree(aside)
    return path


def _compile_package(aside: Path, package: str, python: Path) -> None:
    # Only our package: the linked dependencies came compiled, or not at all.
    work = aside / f".{package}"
    work.mkdir()
    (aside / package).rename(work / package)
    compile_folder(work, python)
    (work / package).rename(aside / package)
    work.rmdir()


def _digest(
    dependencies: list[Path],
    code: list[str],
    fleet_path: Path,
    own: Path | None,
    *,
    compiled: bool,
) -> str:
    total = hashlib.sha256(repr((compiled, [d.name for d in dependencies])).encode())
    total.update(_STAGING)
    places = [ROOT / package for package in code] + ([own] if own else [])
    for path in [*_sources(places), fleet_path]:
        name = "fleet.toml" if path is fleet_path else os.path.relpath(path, ROOT)
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{name} {content}\n".encode())
    return total.hexdigest()[:12]


def _sources(places: list[Path]) -> Iterator[Path]:
    for place in places:
        for parent, folders, files in os.walk(place):
            ignored = _LEFT_OUT(parent, folders + files)
            folders[:] = sorted(set(folders) - ignored)
            yield from (Path(parent, name) for name in sorted(set(files) - ignored))
