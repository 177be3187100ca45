"""Builds the functions' dependencies, for AWS and for this machine.

Wheels only, of the versions and hashes in the locks: nothing is compiled here,
so a build for AWS needs neither its processor nor Docker.
"""

from __future__ import annotations

import io
import platform
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from local.setup.shell import run, say
from stacks.packaging import (
    AWS,
    BUILD,
    HERE,
    SETS,
    Target,
    compile_folder,
    compiler,
    folder,
    lock_of,
    put_in_place,
)

# Lambda's Python 3.13 runs on Amazon Linux 2023, whose glibc is 2.34.
_PLATFORMS = {
    "arm64": "aarch64-manylinux_2_28",
    "x86_64": "x86_64-manylinux_2_28",
}

# Brought by wheels, read by nobody at run time.
_DEAD_WEIGHT = [
    "bin",
    ".lock",
    "*.dist-info/RECORD",
    "*.dist-info/INSTALLER",
    "*.dist-info/REQUESTED",
    "*.dist-info/direct_url.json",
    "**/*.pyi",
]

# Parts of Powertools that every function would carry and none can use: each needs a
# package that is not installed. An agent that wants one lists Powertools with its
# extra in agents/requirements.txt, and that set brings them back. The parser stays:
# Powertools itself imports it as soon as an agent has imported pydantic.
_UNUSABLE_IN_CORE = [
    "aws_lambda_powertools/event_handler/openapi/swagger_ui/*.min.*",  # pydantic
    "aws_lambda_powertools/utilities/auth_alpha",  # PyJWT
    "aws_lambda_powertools/utilities/kafka",  # avro, protobuf
    "aws_lambda_powertools/utilities/data_masking",  # jsonpath_ng
]


def missing() -> list[tuple[str, Target]]:
    """Return the builds that are not there, or that lack byte-code they could have."""
    return [
        (name, target)
        for target in (AWS, HERE)
        for name in SETS
        if not _is_complete(folder(name, target), target)
    ]


def build(uv: Path, environ: Mapping[str, str]) -> None:
    """Install what is missing into folders of ``.build``, and drop outdated ones."""
    wanted = missing()
    for name, target in wanted:
        say(f"set-up: building the dependencies '{name}' for {target}")
        _build(uv, name, target, environ)
    if not wanted:
        return
    if compiler(AWS) is None:
        say(
            f"set-up: no python{AWS.python} on this machine, so the functions ship"
            " without byte-code: they work, their cold start is slower"
        )
    _drop_outdated()
    size = zipped_bytes(folder("core")) / 1e6
    say(f"set-up: the dependencies 'core' are {size:.2f} MB zipped")


def _is_complete(path: Path, target: Target) -> bool:
    if not path.is_dir():
        return False
    return any(path.glob("*/__pycache__")) or compiler(target) is None


def _build(uv: Path, name: str, target: Target, environ: Mapping[str, str]) -> None:
    aside = Path(tempfile.mkdtemp(prefix="building-", dir=BUILD))
    aside.chmod(0o755)
    command: list[str | Path] = [uv, "pip", "install", "--quiet", "--no-deps"]
    command += ["--target", aside, "--require-hashes", "--only-binary", ":all:"]
    if target == HERE:
        command += ["--python", sys.executable]
    else:
        command += ["--python-version", target.python]
        command += ["--python-platform", _PLATFORMS[target.architecture]]
    locked = lock_of(SETS[name])
    doing = f"building the dependencies '{name}' for {target} ({platform.machine()})"
    run([*command, "--requirement", locked], doing, environ)
    left_out = [*_DEAD_WEIGHT, *(_UNUSABLE_IN_CORE if name == "core" else [])]
    for pattern in left_out:
        for path in list(aside.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    python = compiler(target)
    if python is not None:
        compile_folder(aside, python)
    finished = folder(name, target)
    if finished.exists():  # built before there was an interpreter to compile it
        shutil.rmtree(finished)
    put_in_place(aside, finished)


def _drop_outdated() -> None:
    current = {folder(name, target) for name in SETS for target in (AWS, HERE)}
    for path in BUILD.iterdir():
        if path.name.split("-")[0] in SETS and path not in current:
            shutil.rmtree(path)


def zipped_bytes(path: Path) -> int:
    """Return the size of the zip that Lambda is given for this folder."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path.rglob("*")):
            archive.write(file, file.relative_to(path))
    return buffer.tell()
