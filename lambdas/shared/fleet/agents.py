"""The ``[agents]`` tables: whose code runs, for which events, within which limits."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import fields

from lambdas.shared.fleet.compute import check_waits, read_compute
from lambdas.shared.fleet.model import Agent, Grant, logical_name
from lambdas.shared.fleet.problems import NAME, Table, shown
from lambdas.shared.fleet.sources import A_SECRET_NAME, SECRET_NAME
from lambdas.shared.fleet.subscriptions import read_subscriptions
from lambdas.shared.settings import WorkerSettings

_RUN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_VARIABLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_ACTION = re.compile(r"[a-z0-9-]+:[A-Za-z0-9]+")
_RESOURCE = re.compile(r"arn:[^\s*?]+")

# Ours, AWS's, and the switch that would silently turn the claim off.
_TAKEN_PREFIXES = ("AWS_", "BELLHOP_", "ECS_", "POWERTOOLS_")
_TAKEN_VARIABLES = frozenset(f.name.upper() for f in fields(WorkerSettings)) | {
    "_HANDLER",
    "LAMBDA_TASK_ROOT",
    "PYTHONPATH",
    "PATH",
    "TZ",
}

_LONGEST_WAIT_SECONDS = 11 * 3600


def read_agents(
    tables: Mapping[str, Table], sources: Collection[str], *, longest_seconds: int
) -> dict[str, Agent]:
    """Read every ``[agents.NAME]``; ``sources`` are the doors they may listen to."""
    agents = {
        name: _agent(name, table, sources, longest_seconds)
        for name, table in tables.items()
    }
    _check_names(agents, tables)
    return agents


def _agent(
    name: str, table: Table, sources: Collection[str], longest_seconds: int
) -> Agent:
    run = table.matching("run", _RUN, "'module:function'")
    if run is None and not table.has("run"):
        table.problem("run", "want 'module:function', got nothing")
    everything = table.boolean("everything", default=False)
    agent = Agent(
        name=name,
        run=run or "agents:run",
        on=read_subscriptions(table, sources, everything=everything),
        everything=everything,
        timeout_seconds=table.whole_or("timeout_seconds", 60, 1, longest_seconds),
        max_receives=table.whole_or("max_receives", 5, 3, 10),
        batch_size=table.whole_or("batch_size", 1, 1, 10),
        max_runs_per_hour=table.whole("max_runs_per_hour", 1, 1_000_000),
        environment=_environment(table),
        was=table.matching("was", NAME, "the agent's earlier name"),
        backoff_base_seconds=table.whole_or(
            "backoff_base_seconds", 2, 1, _LONGEST_WAIT_SECONDS
        ),
        backoff_max_seconds=table.whole_or(
            "backoff_max_seconds", 900, 1, _LONGEST_WAIT_SECONDS
        ),
        secrets=table.texts(
            "secrets",
            want=A_SECRET_NAME,
            accept=lambda each: bool(SECRET_NAME.fullmatch(each)),
        ),
        allow=_grants(table),
        **read_compute(table),
    )
    check_waits(table, agent)
    table.close()
    return agent


def _environment(table: Table) -> dict[str, str]:
    values = table.mapping("environment")
    for name, value in values.items():
        path = f"environment.{name}"
        if not _VARIABLE.fullmatch(name):
            table.problem(path, "want a name of letters, digits and _")
        elif name.startswith(_TAKEN_PREFIXES) or name in _TAKEN_VARIABLES:
            table.problem(path, "this name is taken; want another one")
        if not isinstance(value, str):
            table.problem(path, f"want text, got {shown(value)}")
    return {name: value for name, value in values.items() if isinstance(value, str)}


def _grants(table: Table) -> tuple[Grant, ...]:
    grants = []
    for each in table.each("allow"):
        actions = each.texts(
            "actions",
            want="actions like 's3:GetObject', without wildcards",
            accept=lambda action: bool(_ACTION.fullmatch(action)),
        )
        resources = each.texts(
            "resources",
            want="whole ARNs, without wildcards",
            accept=lambda arn: bool(_RESOURCE.fullmatch(arn)),
        )
        for key in ("actions", "resources"):
            if not each.raw(key):
                each.problem(key, "want at least one")
        grants.append(Grant(actions=actions, resources=resources))
        each.close()
    return tuple(grants)


def _check_names(agents: Mapping[str, Agent], tables: Mapping[str, Table]) -> None:
    keys = {name: name for name, agent in agents.items() if agent.was is None}
    logical: dict[str, str] = {}
    for name, agent in agents.items():
        owner = keys.setdefault(agent.key, name)
        if owner != name:
            tables[name].problem(
                "was", f"the runs of {agent.key!r} belong to agent {owner!r}"
            )
        twin = logical.setdefault(logical_name(name), name)
        if twin != name:
            tables[name].problem(
                "", f"is spelled like agent {twin!r} in outputs; want another name"
            )
