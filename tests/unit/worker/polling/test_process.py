"""What a child's process leaves is taken away, whatever that is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lambdas.worker.polling import bounds, process
from lambdas.worker.polling.process import ChildProcess
from local.stack import wait_for


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ChildProcess]:
    """A process that waits; what it is given as its TMPDIR is what matters here."""
    monkeypatch.setattr(process, "_COMMAND", ("/bin/sleep", "60", "0"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    child = ChildProcess(lambda _: None, os.environ)
    yield child
    child.end()


def _gone(temp: Path) -> None:
    temp.rmdir()


def _a_file(temp: Path) -> None:
    temp.rmdir()
    temp.write_text("mine", encoding="utf-8")


def _elsewhere(temp: Path) -> None:
    temp.rmdir()
    other = temp.with_name("other")
    other.mkdir()
    (other / "kept").touch()
    temp.symlink_to(other)


@pytest.mark.parametrize("does", [_gone, _a_file, _elsewhere])
def test_next_run_has_an_empty_folder_whatever_became_of_the_last(
    child: ChildProcess, does: Callable[[Path], None]
) -> None:
    assert child.temp is not None
    does(child.temp)

    child.clear()

    assert child.temp.is_dir()
    assert not child.temp.is_symlink()
    assert list(child.temp.iterdir()) == []
    elsewhere = child.temp.with_name("other")
    assert not elsewhere.exists() or (elsewhere / "kept").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux knows how")
@pytest.mark.parametrize(("helpers", "is_swollen"), [(20, False), (21, True)])
def test_process_that_keeps_too_many_others_is_to_be_replaced(
    monkeypatch: pytest.MonkeyPatch, helpers: int, is_swollen: bool
) -> None:
    many = "sleep 60 & " * helpers
    monkeypatch.setattr(process, "_COMMAND", ("/bin/sh", "-c", f"{many} wait"))
    child = ChildProcess(lambda _: None, os.environ)

    try:
        assert wait_for(
            lambda: len(list(bounds.children(child.pid))) == helpers, seconds=10
        )
        assert child.is_swollen(512) is is_swollen
    finally:
        child.end()
    assert list(bounds.children(child.pid)) == []
