"""`bellhop work` becomes the worker: of the local stack, or of a deployed one."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest
from typer.testing import CliRunner

from cli.main import app
from cli.target import ROOT, Target
from tests.unit.cli.test_target_and_clock import up

FLEET = """
[sources.github]

[agents.triage]
run = "agents.hello:run"
on = [{ source = "github", kind = ["issues.opened"] }]

[agents.digger]
run = "agents.hello:run"
on = [{ source = "github", kind = ["issues.opened"] }]
compute = "fargate"
environment = { DEPTH = "7" }
"""


class Became:
    """What this process would have become."""

    def __init__(self) -> None:
        self.command: list[str] = []
        self.environment: dict[str, str] = {}

    def __call__(self, path: str, command: list[str], environment: Any) -> None:
        assert path == command[0] == sys.executable
        self.command, self.environment = command[1:], environment


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> Became:
    became = Became()
    monkeypatch.setattr(os, "execve", became)
    return became


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local stack that runs, with two agents."""
    monkeypatch.setenv("BELLHOP_LOCAL_FOLDER", str(tmp_path))
    queues = {
        "QueueTriage": "http://127.0.0.1:9/queue/triage",
        "QueueDigger": "http://127.0.0.1:9/queue/digger",
    }
    up(tmp_path, outputs=queues)
    (tmp_path / "fleet.toml").write_text(FLEET, encoding="utf-8")
    return tmp_path


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["work", *words])
    return result.exit_code, result.stdout, result.stderr


def test_agent_that_is_not_there_is_named_with_those_that_are(folder: Path) -> None:
    code, _, err = run("ghost", "--local")

    assert code == 2
    assert "no agent 'ghost'" in err
    assert "triage, digger" in err


def test_worker_of_the_local_stack_is_started_as_the_stack_does(
    folder: Path, became: Became
) -> None:
    told = {"started": True, "workers": {"digger": {"AGENT_NAME": "digger"}}}
    (folder / "workers.json").write_text(json.dumps(told), encoding="utf-8")

    code, out, _ = run("digger", "--local", "--health", "127.0.0.1:0")

    assert (code, out) == (0, "")
    assert became.environment == {"AGENT_NAME": "digger"}
    assert became.command == [
        *("-P", "-m", "lambdas.worker.polling"),
        *("--health", "127.0.0.1:0", "--wait-seconds", "1"),
    ]


def test_agent_with_a_function_may_be_worked_for_too(
    folder: Path, became: Became
) -> None:
    code, out, _ = run("triage", "--local")

    assert code == 0
    assert "has a function, which takes messages of the same queue" in out
    wanted = {
        "AGENT_NAME": "triage",
        "LEDGER_TABLE": "ledger",
        "PAYLOAD_BUCKET": "payloads",
        "QUEUE_URL": "http://127.0.0.1:9/queue/triage",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "test",
        "BELLHOP_CLOCK_FILE": str(folder / "clock"),
        "BELLHOP_FLEET": str(folder / "fleet.toml"),
    }
    assert {name: became.environment.get(name) for name in wanted} == wanted


def test_worker_that_never_heard_of_a_stack_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELLHOP_LOCAL_FOLDER", str(tmp_path))

    code, _, err = run("triage")

    assert code == 2
    assert "make up" in err


def test_worker_of_a_deployed_stack_has_the_operators_rights_and_this_checkout(
    folder: Path, became: Became, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its address is AWS's own: nothing of the local stack is said."""
    fleet = folder / "fleet.toml"
    monkeypatch.setenv("BELLHOP_FLEET", str(fleet))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    (folder / "config").write_text("[profile ops]\nregion = eu-west-1\n")
    target = Target(
        name="Bellhop",
        api_url="https://api.example",
        ledger_table="ledger",
        payload_bucket="payloads",
        bus="bus",
        outputs={"QueueDigger": "https://sqs.eu-west-1.amazonaws.com/1/digger"},
        session=boto3.Session(profile_name="ops", region_name="eu-west-1"),
    )
    monkeypatch.setattr("cli.target.find", lambda **_: target)

    code, _, _ = run("digger", "--stack", "Bellhop")

    assert code == 0
    assert became.command[-1] == "20"
    told = became.environment
    assert (told["AWS_PROFILE"], told["AWS_REGION"]) == ("ops", "eu-west-1")
    assert told["QUEUE_URL"].endswith("/digger")
    assert (told["DEPTH"], told["PYTHONPATH"]) == ("7", str(ROOT))
    assert told["BELLHOP_FLEET"] == str(fleet)
    # The terminal's own keys would outrank the profile.
    assert "AWS_ACCESS_KEY_ID" not in told
    assert "AWS_ENDPOINT_URL" not in told
    assert "BELLHOP_WORLD_URL" not in told
