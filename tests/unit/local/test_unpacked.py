"""A function's code is unpacked once, and each process has a folder of its own."""

from __future__ import annotations

import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from local.unpacked import unpack_once


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A zip of two files; what the engine keeps meanwhile is kept in the test's."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    path = tmp_path / "code.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("agents/hello.py", "HELLO = 1\n")
        archive.writestr("fleet.toml", "")
    return path


def unpacked(code: Path, into: Path) -> Path:
    runtime = SimpleNamespace()
    unpack_once(runtime)
    into.mkdir()
    with runtime.zipfile.ZipFile(code) as archive:
        archive.extractall(into)
    return into


def test_processes_started_at_once_find_the_same_files(
    code: Path, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(8) as pool:
        folders = list(
            pool.map(lambda n: unpacked(code, tmp_path / f"code-{n}"), range(8))
        )

    files = [folder / "agents/hello.py" for folder in folders]
    assert {file.read_text() for file in files} == {"HELLO = 1\n"}
    assert len({file.stat().st_ino for file in files}) == 1


def test_files_that_one_process_makes_are_its_own(code: Path, tmp_path: Path) -> None:
    first = unpacked(code, tmp_path / "first")
    (first / "agents/made.py").write_text("")

    second = unpacked(code, tmp_path / "second")

    assert not (second / "agents/made.py").exists()


def test_other_code_is_unpacked_anew(code: Path, tmp_path: Path) -> None:
    unpacked(code, tmp_path / "before")
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("agents/hello.py", "HELLO = 2\n")

    after = unpacked(code, tmp_path / "after")

    assert (after / "agents/hello.py").read_text() == "HELLO = 2\n"
    assert not (after / "fleet.toml").exists()
