"""The kill point: which call it names, and that it fires exactly once.

Each case runs in a process of its own, because what is tested is its death.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local.home import ROOT
from local.hooks.sitecustomize import parse

HOOKS = ROOT / "local/hooks"


def run(
    folder: Path, *calls: str, function: str = "worker-a", about: bytes = b""
) -> int:
    """Make the calls in a fresh process; return how it ended."""
    moments = ("before", "after")
    steps = [f"at({m!r}, {c!r}, {about!r})" for c in calls for m in moments]
    code = f"from sitecustomize import at; {'; '.join(steps)}"
    return subprocess.run(
        [sys.executable, "-c", code],
        env={
            "PYTHONPATH": str(HOOKS),
            "PATH": os.environ["PATH"],
            "AWS_LAMBDA_FUNCTION_NAME": function,
            "BELLHOP_KILL_FILE": str(folder / "kill"),
            "BELLHOP_WIRE_FILE": str(folder / "wire.jsonl"),
        },
        check=False,
    ).returncode


@pytest.mark.parametrize(
    "point",
    ["before:dynamodb.UpdateItem:2", "after:dynamodb.UpdateItem:2@worker"],
)
def test_armed_call_kills_the_process(tmp_path: Path, point: str) -> None:
    (tmp_path / "kill").write_text(point)

    code = run(tmp_path, "dynamodb.UpdateItem", "world.POST", "dynamodb.UpdateItem")

    assert code == -signal.SIGKILL
    assert json.loads((tmp_path / "kill.fuse").read_text())["armed"] == point


def test_it_fires_once_so_that_a_retry_runs_through(tmp_path: Path) -> None:
    (tmp_path / "kill").write_text("before:world.POST:1")

    assert run(tmp_path, "world.POST") == -signal.SIGKILL
    assert run(tmp_path, "world.POST") == 0


def test_calls_are_counted_over_all_processes(tmp_path: Path) -> None:
    (tmp_path / "kill").write_text("before:world.POST:3")

    assert run(tmp_path, "world.POST") == 0
    assert run(tmp_path, "world.POST") == 0
    assert run(tmp_path, "world.POST") == -signal.SIGKILL


def test_other_functions_neither_die_nor_count(tmp_path: Path) -> None:
    (tmp_path / "kill").write_text("before:world.POST:1@worker-b")

    assert run(tmp_path, "world.POST") == 0
    assert run(tmp_path, "world.POST", function="the-worker-b-1") == -signal.SIGKILL


def test_calls_about_other_events_neither_die_nor_count(tmp_path: Path) -> None:
    (tmp_path / "kill").write_text("after:dynamodb.PutItem:2@worker#github:1")
    mine, other = b'{"pk":{"S":"github:1"}}', b'{"pk":{"S":"github:2"}}'
    hashed = f"events/{hashlib.sha256(b'github:1').hexdigest()}/0".encode()

    assert run(tmp_path, *["dynamodb.PutItem"] * 3, about=other) == 0
    assert run(tmp_path, "dynamodb.PutItem", about=mine) == 0
    assert run(tmp_path, "dynamodb.PutItem", about=hashed) == -signal.SIGKILL


def test_many_points_may_be_armed_and_each_kills_once(tmp_path: Path) -> None:
    points = ["before:world.POST:1#a:1", "before:world.POST:1#a:2", "after:s3.Put:2"]
    (tmp_path / "kill").write_text("\n".join(points))

    ends = [run(tmp_path, "world.POST", about=b) for b in (b"a:2", b"a:1", b"a:2")]
    ends += [run(tmp_path, "s3.Put"), run(tmp_path, "s3.Put")]

    assert ends == [-signal.SIGKILL, -signal.SIGKILL, 0, 0, -signal.SIGKILL]
    fuses = map(json.loads, (tmp_path / "kill.fuse").read_text().splitlines())
    assert [fuse["armed"] for fuse in fuses] == [points[1], points[0], points[2]]
    assert not (tmp_path / "kill").exists()


@pytest.mark.parametrize(
    "point",
    ["", "world.POST:1", "before:POST:1", "before:world.POST:x", "at:world.POST:1"],
)
def test_what_is_no_point_is_refused_with_what_was_wanted(point: str) -> None:
    with pytest.raises(ValueError, match="want before"):
        parse(point)
