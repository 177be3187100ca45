"""The local stack itself: it says what is in the way and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from local import up
from local.demo import post
from local.demo.story import FLEET
from local.demo.telling import is_done
from local.home import ROOT, Home, LocalError, is_alive, read_json
from local.stack import LocalStack, connect, wait_for

_ENVIRONMENT = {"PATH", "HOME", "JSII_NODE", "CDK_VALIDATION", "TMPDIR"}


def run(
    home: Home, command: str, *options: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m local`` as ``make`` does."""
    return subprocess.run(
        [sys.executable, "-m", "local", command, "--folder", home.folder, *options],
        cwd=ROOT,
        env={**environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    return {**kept, "BELLHOP_FLEET": str(FLEET)}


def left_behind(home: Home, pids: list[int]) -> list[object]:
    """What of a stack is still there: files beside the logs, and processes."""
    files = [p for p in home.folder.rglob("*") if home.logs not in (p, *p.parents)]
    return [*files, *(pid for pid in pids if is_alive(pid))]


def pids(home: Home) -> list[int]:
    kept = read_json(home.keeper_file)
    assert kept is not None
    children = Path(f"/proc/{kept['engine_pid']}/task").glob("*/children")
    workers = [int(pid) for found in children for pid in found.read_text().split()]
    return [kept["pid"], kept["engine_pid"], *workers]


def test_up_outlives_its_command_and_down_leaves_only_logs(tmp_path: Path) -> None:
    home = Home(tmp_path / "local")

    first = run(home, "up")
    told = json.loads(home.stack_file.read_text())
    deployed = home.fleet.read_bytes()
    stack = connect(home)
    post.send(stack, "github", post.signed(stack, "github", "ping"))
    second = run(home, "up")
    running = pids(home)
    down = run(home, "down")

    assert first.returncode == 0, first.stderr
    assert told["schema"] == 1
    assert set(told["queues"]) == {"issue-triage", "counter", "bookkeeper"}
    assert deployed == FLEET.read_bytes()
    assert second.returncode == 1
    assert "already running" in second.stderr
    assert second.stderr.count("\n") == 1
    assert len(running) > 2
    assert down.returncode == 0
    assert left_behind(home, running) == []
    assert home.engine_log.is_file()
    with pytest.raises(LocalError, match="make up"):
        connect(home)


def test_interrupted_up_leaves_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path / "local")
    starting = subprocess.Popen(
        [sys.executable, "-m", "local", "up", "--folder", home.folder],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell ignores it for what it starts in the background, and so would we.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert wait_for(home.keeper_file.is_file)
    running = pids(home)

    starting.send_signal(signal.SIGINT)
    _, said = starting.communicate(timeout=120)

    assert starting.returncode == 130
    assert "nothing is left running" in said
    assert left_behind(home, running) == []


def test_killed_up_takes_its_stack_along(tmp_path: Path) -> None:
    home = Home(tmp_path / "local")
    starting = subprocess.Popen(
        [sys.executable, "-m", "local", "up", "--folder", home.folder],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert wait_for(home.keeper_file.is_file)
    running = pids(home)

    starting.kill()
    starting.wait()

    assert wait_for(lambda: left_behind(home, running) == [])


def test_files_of_a_killed_stack_are_in_nobodys_way(tmp_path: Path) -> None:
    home = Home(tmp_path / "local")
    with up.running(home, fleet=FLEET) as stack:
        running = pids(home)
        os.kill(stack.pid, signal.SIGKILL)
        assert wait_for(lambda: not any(map(is_alive, running)))
        with pytest.raises(LocalError, match="make up"):
            connect(home)
        assert home.stack_file.exists()

    with up.running(home, fleet=FLEET) as again:
        assert again.pid != stack.pid
    assert left_behind(home, []) == []


def test_taken_port_is_told_in_one_sentence(tmp_path: Path) -> None:
    home = Home(tmp_path / "local")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        refused = run(home, "up", "--port", str(port))

    assert refused.returncode == 1
    assert f"port {port} is taken" in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert left_behind(home, []) == []


def test_engine_that_dies_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    home = Home(tmp_path / "local")

    def die_before_deployment(said: str) -> None:
        if said.startswith("deploying"):
            os.kill(pids(home)[1], signal.SIGKILL)

    with pytest.raises(LocalError, match=r"the local engine failed(.|\n)*Running on"):
        up.up(home, fleet=FLEET, say=die_before_deployment)

    assert left_behind(home, []) == []


def test_broken_fleet_and_kill_point_are_told_before_anything_runs(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "local")
    fleet = tmp_path / "fleet.toml"
    fleet.write_text('[agents.a]\nrun = "nowhere"\n[sources.nobody]\n')

    broken = run(home, "up", BELLHOP_FLEET=str(fleet))
    pointless = run(home, "up", BELLHOP_KILL_AT="world.POST")

    assert broken.returncode == pointless.returncode == 1
    assert "agents.a.run" in broken.stderr
    assert "sources.nobody" in broken.stderr
    assert "want before|after" in pointless.stderr
    assert "Traceback" not in broken.stderr + pointless.stderr
    assert left_behind(home, []) == []


def test_process_killed_at_an_armed_call_is_followed_by_one_effect(
    stack: LocalStack,
) -> None:
    """The effect is done, its outcome not yet written: the worst moment."""
    stack.arm(f"after:world.POST:1@{stack.functions['worker:counter']}")
    since = stack.wire.mark()

    answer = post.send(stack, "slack", post.signed(stack, "slack", "app_mention"))
    event_id = str(answer.event_id)

    assert wait_for(lambda: is_done(stack, event_id, "counter"))
    fired = stack.fired()
    assert fired is not None
    assert stack.wire.exits(since)[fired["pid"]] == -signal.SIGKILL
    calls = [e for e in stack.effects() if (e["body"] or {}).get("event") == event_id]
    assert [(call["count"], call["requests"]) for call in calls] == [(1, 2)]


def test_what_the_engine_reads_over_is_set_by_api(stack: LocalStack) -> None:
    dynamodb = stack.client("dynamodb")

    lives = dynamodb.describe_time_to_live(TableName=stack.ledger_table)
    backups = dynamodb.describe_continuous_backups(TableName=stack.ledger_table)

    assert lives["TimeToLiveDescription"]["AttributeName"] == "expires_at"
    recovery = backups["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert recovery["PointInTimeRecoveryStatus"] == "ENABLED"


@pytest.mark.parametrize("function", ["receiver", "relay", "worker:counter"])
def test_functions_are_judged_by_their_roles(stack: LocalStack, function: str) -> None:
    """Scan and Delete are nobody's: the engine must really refuse them."""
    dynamodb = as_function(stack, function, "dynamodb")
    key = {"pk": {"S": "github:none"}, "sk": {"S": "event"}}

    with pytest.raises(ClientError, match="AccessDenied"):
        dynamodb.scan(TableName=stack.ledger_table)
    with pytest.raises(ClientError, match="AccessDenied"):
        dynamodb.delete_item(TableName=stack.ledger_table, Key=key)


def as_function(stack: LocalStack, function: str, service: str) -> Any:
    """A client with the rights of a function's role."""
    configuration = stack.client("lambda").get_function_configuration(
        FunctionName=stack.functions[function]
    )
    session = stack.client("sts").assume_role(
        RoleArn=configuration["Role"], RoleSessionName="test"
    )["Credentials"]
    return boto3.client(  # type: ignore[call-overload]
        service,
        endpoint_url=stack.endpoint,
        region_name=stack.region,
        aws_access_key_id=session["AccessKeyId"],
        aws_secret_access_key=session["SecretAccessKey"],
        aws_session_token=session["SessionToken"],
    )
