"""The page on runs of hours, followed on the local stack: stopped in the middle."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from lambdas.shared.fleet import load
from local import up
from local.demo.telling import is_done
from local.home import ROOT, Home
from local.stack import LocalStack, wait_for
from tests.e2e.pages import follow, write

PAGE = (ROOT / "docs/howto/run-for-hours.md").read_text(encoding="utf-8")
AGENT = "page-counter"
PAGES = 16
_COMMANDS = re.compile(r"^ *```sh\n(.*?)\n\s*```", re.S | re.M)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page writes, each file where it says; the table beside a source."""
    folder = tmp_path_factory.mktemp("hours")
    (folder / ".venv").symlink_to(ROOT / ".venv")
    names = write(folder, PAGE)
    table = (folder / "fleet.toml").read_text(encoding="utf-8")
    (folder / "fleet.toml").write_text(f"[sources.github]\n\n{table}", encoding="utf-8")
    assert names == ["agents/page_counter.py", "fleet.toml"]
    return folder


@pytest.fixture(scope="module")
def commands() -> list[str]:
    return [textwrap.dedent(block) for block in _COMMANDS.findall(PAGE)]


@pytest.fixture(scope="module")
def stack(folder: Path) -> Iterator[LocalStack]:
    with up.running(Home(folder / ".local"), fleet=folder / "fleet.toml") as running:
        yield running


def lines(folder: Path, message: str) -> list[dict[str, object]]:
    """Return what the workers logged under ``message``, in order."""
    log = folder / f".local/logs/worker-{AGENT}.log"
    found = []
    for text in log.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and line.get("message") == message:
            found.append(line)
    return found


def test_every_fleet_on_the_page_is_a_good_one(folder: Path, tmp_path: Path) -> None:
    (network,) = re.findall(r"^```toml\n(.*?)\n```", PAGE, re.S | re.M)
    fleet = folder.joinpath("fleet.toml").read_text(encoding="utf-8")
    both = tmp_path / "fleet.toml"
    both.write_text(f"{fleet}\n{network}\n", encoding="utf-8")

    read = load(both)

    assert read.agents[AGENT].polls
    assert len(read.subnets) == 2


def test_what_is_written_passes_the_projects_own_checks(folder: Path) -> None:
    agent = folder / "agents/page_counter.py"
    for how in (["check"], ["format", "--check"]):
        command = [*how, "--stdin-filename", str(ROOT / "agents/page_counter.py"), "-"]
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command],
            cwd=ROOT,
            input=agent.read_text(encoding="utf-8"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_run_that_is_stopped_goes_on_behind_the_last_page_saved(
    folder: Path, commands: list[str], stack: LocalStack
) -> None:
    send, stop, look = commands

    (event_id,) = set(re.findall(r"github:[\w-]+", follow(folder, send)))
    assert wait_for(lambda: len(lines(folder, "page counted")) >= 3)
    follow(folder, stop)
    assert wait_for(lambda: is_done(stack, event_id, AGENT))

    counted = [line["page"] for line in lines(folder, "page counted")]
    attempts = [line["attempt"] for line in lines(folder, "page counted")]
    # SIGTERM lets the round end and be saved: nothing is counted twice.
    assert counted == list(range(PAGES))
    assert set(attempts) == {1, 2}
    assert len(lines(folder, "worker started")) == 2
    # Each page of the page's own agent has a hundred words and its number.
    (effect,) = stack.effects("comments")
    assert effect["count"] == 1
    assert f"{sum(100 + page for page in range(PAGES))} words" in str(effect["body"])
    assert "SUCCEEDED" in follow(folder, look)
    story = follow(folder, f".venv/bin/bellhop show {event_id}")
    assert "SUCCEEDED" in story
