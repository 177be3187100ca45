"""The arrows between the parts, held by reading every import."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.architecture import JUNK_DRAWERS, Module, own_clocks, wrong_arrows

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("lambdas", "agents", "stacks", "local", "cli", "bench", "tests")


def sources(*parts: str) -> list[Path]:
    return sorted(
        path
        for part in parts
        for path in (ROOT / part).rglob("*.py")
        if "__pycache__" not in path.parts
    )


HANDLERS = [path for path in sources("lambdas") if path.name == "handler.py"]


def test_every_import_points_the_way_the_design_says() -> None:
    modules = [Module.of(path, ROOT) for path in [*sources(*PARTS), ROOT / "app.py"]]

    assert len(modules) > 50
    assert [wrong for module in modules for wrong in wrong_arrows(module)] == []


def test_only_the_clock_reads_the_time() -> None:
    modules = [Module.of(path, ROOT) for path in sources("lambdas", "agents")]

    assert [found for module in modules for found in own_clocks(module)] == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("lambdas.shared.ledger", "from lambdas.worker import runner"),
        ("lambdas.shared.ledger", "import lambdas.receiver.intake"),
        ("lambdas.shared.ledger", "from ..worker import runner"),
        ("lambdas.worker.runner", "from stacks import packaging"),
        ("lambdas.worker.runner", "import cli"),
        ("lambdas.worker.runner", "from local.world import World"),
        ("lambdas.worker.runner", "import boto3"),
        ("lambdas.receiver.tokens", "import urllib.request"),
        ("lambdas.planner.sources", "from google.oauth2 import service_account"),
        (
            "lambdas.receiver.tokens",
            "def f():\n    from http.client import HTTPConnection",
        ),
        ("lambdas.shared.fetch", "import httpx"),
        ("lambdas.shared.ledger", "from botocore.exceptions import ClientError"),
        ("lambdas.worker.runner", "def f():\n    import boto3"),
        ("agents.triage", "from lambdas.worker.runner import Runner"),
        ("agents.triage", "from lambdas.shared.ledger import Ledger"),
        ("agents.triage", "import boto3"),
        ("agents.effects.github", "import boto3"),
        ("agents.effects.github", "from lambdas.worker import runner"),
        ("stacks.ingress", "from lambdas.receiver import intake"),
        ("stacks.ingress", "import boto3"),
        ("stacks.ingress", "from local import engine"),
        ("app", "from lambdas.worker import runner"),
    ],
)
def test_a_reversed_arrow_is_found(module: str, line: str) -> None:
    assert len(wrong_arrows(Module(module, ast.parse(line)))) == 1


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("lambdas.worker.runner", "from lambdas.shared import clock"),
        ("lambdas.shared.adapters.aws", "import boto3"),
        ("agents.triage", "from agents import Event, Run"),
        ("agents.triage", "from agents.effects import github"),
        ("agents", "from lambdas.shared.event import Event"),
        ("agents.effects.ses", "import boto3"),
        ("agents.effects.github", "from lambdas.shared.outside import address"),
        ("stacks.ingress", "from lambdas.shared.settings import ReceiverSettings"),
        ("app", "from stacks.fleet import FleetStack"),
        ("cli.main", "from lambdas.shared.fleet import load"),
    ],
)
def test_an_arrow_of_the_design_is_left_alone(module: str, line: str) -> None:
    assert wrong_arrows(Module(module, ast.parse(line))) == []


@pytest.mark.parametrize(
    "line",
    [
        "datetime.now(UTC)",
        "datetime.datetime.now()",
        "datetime.utcnow()",
        "date.today()",
        "time.time()",
        "from time import time",
        "field(default_factory=datetime.now)",
    ],
)
def test_a_clock_of_its_own_is_found(line: str) -> None:
    assert len(own_clocks(Module("lambdas.worker.runner", ast.parse(line)))) == 1


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda path: path.parent.name)
def test_handler_is_a_doorway(handler: Path) -> None:
    assert len(handler.read_text(encoding="utf-8").splitlines()) <= 40


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda path: path.parent.name)
def test_importing_a_handler_needs_no_environment(handler: Path) -> None:
    """And no network: whoever opens a socket while importing fails here."""
    name = f"lambdas.{handler.parent.name}.handler"
    program = (
        "import socket, sys\n"
        "def refuse(*_): raise SystemExit('opens a socket')\n"
        "socket.socket.connect = refuse\n"
        f"import {name}; assert callable({name}.handle)"
    )

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_no_file_is_a_junk_drawer() -> None:
    assert [path for path in sources(*PARTS) if path.stem in JUNK_DRAWERS] == []
