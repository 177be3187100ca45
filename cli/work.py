"""`bellhop work`: an agent's worker on this machine, as its container would be."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated

import typer

from cli.output import UsageError
from cli.session import Session, verb
from cli.target import ROOT, Target, stack_file
from lambdas.shared.fleet import Agent
from lambdas.shared.settings import WorkerSettings

# Written by the local stack beside stack.json: how it starts each worker.
_WORKERS = "workers.json"

# Of the terminal's own, which would outrank a profile.
_KEYS = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}

# A poll that waits costs less, and a stop waits for it: the local queue costs nothing.
_LOCAL_WAIT, _WAIT = "1", "20"

Name = Annotated[str, typer.Argument(help="An agent of the fleet.", metavar="AGENT")]
Health = Annotated[
    str,
    typer.Option(
        help="Where /healthz answers; port 0: any free one.", metavar="HOST:PORT"
    ),
]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "work")(work)


def work(session: Session, agent: Name, *, health: Health = "off") -> None:
    """Take messages from an agent's queue and run them here, until Ctrl-C.

    The same worker as in a container: it holds what it works on, gives back what it
    cannot finish, and never deletes what is not done. Ctrl-C lets the run save its
    state and hand over; a second one ends it at once. The lines are its log.
    """
    target = session.target
    found = target.fleet.agents.get(agent)
    if found is None:
        there = ", ".join(target.fleet.agents) or "none"
        raise UsageError(
            f"no agent {agent!r} in fleet.toml{target.as_of}; there are: {there}"
        )
    if not found.polls:
        session.out.say(
            f"{agent} has a function, which takes messages of the same queue beside"
            " this worker",
            "yellow",
        )
    wait = _LOCAL_WAIT if target.is_local else _WAIT
    environment = _local(agent) if target.is_local else None
    sys.stdout.flush()
    # In our place: the terminal's signals and the exit code are the worker's own.
    os.execve(  # noqa: S606 - ourselves
        sys.executable,
        [
            *(sys.executable, "-P", "-m", "lambdas.worker.polling"),
            *("--health", health, "--wait-seconds", wait),
        ],
        environment or _environment(target, found),
    )


def _local(agent: str) -> dict[str, str] | None:
    """Return the environment of an agent's own worker, its role's rights included."""
    try:
        text = stack_file().with_name(_WORKERS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    environment: dict[str, str] | None = json.loads(text)["workers"].get(agent)
    return environment


def _environment(target: Target, agent: Agent) -> dict[str, str]:
    """Return ours, with what a deployed worker is told, and the operator's rights."""
    settings = WorkerSettings(
        ledger_table=target.ledger_table,
        payload_bucket=target.payload_bucket,
        agent_name=agent.name,
        queue_url=target.outputs[f"Queue{agent.logical_name}"],
    )
    reach = _reach(target)
    outranked = _KEYS if "AWS_PROFILE" in reach else set()
    ours = {name: v for name, v in os.environ.items() if name not in outranked}
    environment = {**ours, **agent.environment, **settings.to_env()}
    environment["PYTHONPATH"] = str(ROOT)
    if target.fleet_file is not None:
        environment["BELLHOP_FLEET"] = str(target.fleet_file)
    return {**environment, **reach}


def _reach(target: Target) -> dict[str, str]:
    """Return what tells AWS's library where the stack is, and who asks."""
    told: dict[str, str | None] = {"AWS_REGION": target.session.region_name}
    if target.session.profile_name != "default":
        told["AWS_PROFILE"] = target.session.profile_name
    if target.is_local:
        keys = target.session.get_credentials()
        told |= {
            "AWS_ENDPOINT_URL": target.endpoint,
            "AWS_ACCESS_KEY_ID": keys.access_key if keys else None,
            "AWS_SECRET_ACCESS_KEY": keys.secret_key if keys else None,
            "BELLHOP_CLOCK_FILE": str(target.clock_file) if target.clock_file else None,
            "BELLHOP_WORLD_URL": target.world_url,
        }
    told["AWS_DEFAULT_REGION"] = told["AWS_REGION"]
    return {name: value for name, value in told.items() if value is not None}
