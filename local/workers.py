"""Workers that poll, on this machine: what ECS does for ``compute = "fargate"``.

Each agent has one process here, started as its container would be: of the same code,
with the same settings, under the role of its task. One that ends is started again.
``workers.json`` beside stack.json says how; ``bellhop work`` goes by it too.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lambdas.shared import fleet as fleets
from lambdas.shared.settings import WorkerSettings
from local import engine
from local.deploy import Deployed
from local.home import ROOT, Home, read_json, write_json
from stacks.fargate.image import stage_image

FILE = "workers.json"

# A signal ends its poll within that time; the engine's queue costs nothing.
_WAIT_SECONDS = 1
_LOOK_SECONDS = 0.1
_AGAIN_SECONDS = 2.0
# For one that has to end: asked, asked again, and no more.
_PATIENCE_SECONDS = 2.0

_TASK = "AWS::ECS::TaskDefinition"
_ROLE_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The running engine, as a worker must be told of it."""

    client: Callable[[str], Any]
    endpoint: str
    world_url: str


def describe(
    home: Home, deployed: Deployed, fleet_file: Path, running: Engine, *, started: bool
) -> None:
    """Write down how each worker is started; and whether the keeper does so."""
    polling = [a for a in fleets.load(fleet_file).agents.values() if a.polls]
    if not polling:
        return
    code = stage_image(fleet_file, local=True) / "task"
    roles = _roles(deployed)
    workers = {
        agent.name: {
            **agent.environment,
            **_surroundings(home, code, agent.name, running),
            **_credentials(running, roles[agent.name]),
            **_settings(deployed, agent).to_env(),
        }
        for agent in polling
    }
    write_json(home.folder / FILE, {"started": started, "workers": workers})


def environment_of(home: Home, agent: str) -> dict[str, str] | None:
    """Return the whole environment of an agent's worker; None: it has none."""
    found = read_json(home.folder / FILE) or {"workers": {}}
    environment: dict[str, str] | None = found["workers"].get(agent)
    return environment


def command(*options: str) -> list[str]:
    """Return the command of a worker; its code is on the PYTHONPATH it is given."""
    return [sys.executable, "-P", "-m", "lambdas.worker.polling", *options]


def start(
    environment: Mapping[str, str], log: Path, *options: str
) -> subprocess.Popen[bytes]:
    """Start a worker that writes to ``log``; it ends with the calling thread."""
    local = ("--wait-seconds", str(_WAIT_SECONDS), "--parent", str(os.getpid()))
    with log.open("ab") as output:
        return subprocess.Popen(
            command(*local, *options),
            cwd=environment["TMPDIR"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def run(home: Home, stopping: threading.Event) -> None:
    """Keep every worker running until the end; returns when none is."""
    while not home.stack_file.exists():
        if stopping.wait(_LOOK_SECONDS):
            return
    found = read_json(home.folder / FILE)
    if found is None or not found["started"]:
        return
    running: dict[str, subprocess.Popen[bytes]] = {}
    pause = 0.0
    while not stopping.wait(pause):
        for agent, environment in found["workers"].items():
            if agent not in running or running[agent].poll() is not None:
                running[agent] = start(environment, log_of(home, agent), "--health=off")
        pause = _AGAIN_SECONDS
    end(running.values())


def log_of(home: Home, agent: str) -> Path:
    """Return where a worker of the keeper writes."""
    return home.logs / f"worker-{agent}.log"


def end(workers: Any) -> None:
    """Ask each to stop, and again, and end it; returns when none runs."""
    left = list(workers)
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        for worker in left:
            with contextlib.suppress(ProcessLookupError):
                worker.send_signal(number)
        left = [worker for worker in left if not _has_ended(worker)]
    for worker in left:
        worker.wait()


def _has_ended(worker: subprocess.Popen[bytes]) -> bool:
    try:
        worker.wait(_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _surroundings(
    home: Home, code: Path, agent: str, running: Engine
) -> dict[str, str]:
    """Return what a container sees of its machine, and the engine adds of its own."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home.temp),
        "TMPDIR": str(home.temp),
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join([str(code), str(ROOT / "local/hooks")]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "AWS_ENDPOINT_URL": running.endpoint,
        "AWS_DEFAULT_REGION": engine.REGION,
        "AWS_REGION": engine.REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "BELLHOP_CALLER": f"worker-{agent}",
        "BELLHOP_CLOCK_FILE": str(home.clock),
        "BELLHOP_WORLD_URL": running.world_url,
        "BELLHOP_KILL_FILE": str(home.kill),
        "BELLHOP_WIRE_FILE": str(home.wire),
    }


def _settings(deployed: Deployed, agent: fleets.Agent) -> WorkerSettings:
    return WorkerSettings(
        ledger_table=deployed.outputs["LedgerTable"],
        payload_bucket=deployed.outputs["PayloadBucket"],
        agent_name=agent.name,
        queue_url=deployed.outputs[f"Queue{agent.logical_name}"],
    )


def _roles(deployed: Deployed) -> dict[str, str]:
    """Return the name of each agent's task role."""
    roles = {}
    for _, task in deployed.of_type(_TASK):
        (container,) = task["ContainerDefinitions"]
        told = {pair["Name"]: pair["Value"] for pair in container["Environment"]}
        logical = task["TaskRoleArn"]["Fn::GetAtt"][0]
        roles[told["AGENT_NAME"]] = deployed.ids[logical]
    return roles


def _credentials(running: Engine, role: str) -> dict[str, str]:
    """Return credentials of a task's role, which only ECS may take on in AWS."""
    iam = running.client("iam")
    described = iam.get_role(RoleName=role)["Role"]
    trust = described["AssumeRolePolicyDocument"]
    mine = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}
    with_me = {**trust, "Statement": [*trust["Statement"], mine]}
    iam.update_assume_role_policy(RoleName=role, PolicyDocument=json.dumps(with_me))
    taken = running.client("sts").assume_role(
        RoleArn=described["Arn"],
        RoleSessionName="worker",
        DurationSeconds=_ROLE_SECONDS,
    )["Credentials"]
    iam.update_assume_role_policy(RoleName=role, PolicyDocument=json.dumps(trust))
    return {
        "AWS_ACCESS_KEY_ID": taken["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": taken["SecretAccessKey"],
        "AWS_SESSION_TOKEN": taken["SessionToken"],
    }
