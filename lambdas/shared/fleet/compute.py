"""Where an agent's code runs, and the keys that only one of the two places knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from lambdas.shared.fleet.hours import HOURS
from lambdas.shared.fleet.model import (
    FARGATE,
    LAMBDA,
    QUEUE_RETENTION_DAYS,
    Agent,
)
from lambdas.shared.fleet.problems import Table
from lambdas.shared.fleet.timetable import read_timezone

_DAY = 86_400

# Fargate sells these pairs: CPU units, then the least memory, the most and the step.
_SIZES: Mapping[int, tuple[int, int, int]] = {
    512: (1024, 4096, 1024),
    1024: (2048, 8192, 1024),
    2048: (4096, 16_384, 1024),
    4096: (8192, 30_720, 1024),
    8192: (16_384, 61_440, 4096),
    16_384: (32_768, 122_880, 8192),
}
_SMALLEST_CPU, _SMALLEST_MEMORY = 256, (512, 1024, 2048)

# ECS ends a container 120 s after it was asked to stop, its most; Spot warns 120 s
# ahead. What is left after the grace is for giving the message back.
MOST_GRACE_SECONDS = 110

_FARGATE_ONLY = (
    "spot",
    "cpu",
    "heartbeat_seconds",
    "stall_seconds",
    "grace_seconds",
    "business_hours",
    "expect_every_minutes",
)
# What the mapping of a queue to a function knows, and a worker that polls does not.
_LAMBDA_ONLY = {
    "timeout_seconds": "max_duration_seconds",
    "batch_size": "max_concurrency (a worker takes one message at a time)",
}


def read_compute(table: Table) -> dict[str, Any]:
    """Return the fields of an :class:`Agent` that say where and how long it runs."""
    chosen = table.choice("compute", (LAMBDA, FARGATE))
    if chosen is None and table.has("compute"):  # told; nothing follows from a slip
        chosen = FARGATE if any(map(table.has, _FARGATE_ONLY)) else LAMBDA
    return {
        "compute": cast(Any, chosen or LAMBDA),
        "max_duration_seconds": table.whole_or(
            "max_duration_seconds", 6 * 3600, 1, 7 * _DAY
        ),
        **(_fargate(table) if chosen == FARGATE else _lambda(table)),
    }


def _lambda(table: Table) -> dict[str, Any]:
    for key in _FARGATE_ONLY:
        if table.has(key):
            table.problem(key, f'is a key of compute = "{FARGATE}"; want it removed')
    if table.has("timezone"):
        table.problem("timezone", "goes with business_hours; want it removed")
    return {
        # Lambda: MaximumConcurrency of a queue's mapping is 2 to 1000.
        "max_concurrency": table.whole_or("max_concurrency", 10, 2, 1000),
        "memory_mb": table.whole_or("memory_mb", 512, 128, 10_240),
    }


def _fargate(table: Table) -> dict[str, Any]:
    for key, instead in _LAMBDA_ONLY.items():
        if table.has(key):
            table.problem(
                key, f'is a key of compute = "{LAMBDA}"; want {instead} instead'
            )
    cpu, memory_mb = _size(table)
    # The lease ends five seconds before the message shows, after three of these.
    heartbeat = table.whole_or("heartbeat_seconds", 30, 3, 900)
    return {
        "max_concurrency": table.whole_or("max_concurrency", 10, 1, 1000),
        "cpu": cpu,
        "memory_mb": memory_mb,
        "spot": table.boolean("spot", default=False),
        "heartbeat_seconds": heartbeat,
        "stall_seconds": _stall(table, heartbeat),
        "grace_seconds": table.whole_or("grace_seconds", 100, 1, MOST_GRACE_SECONDS),
        **_expectation(table),
    }


def _size(table: Table) -> tuple[int, int]:
    """Return the task's CPU units and memory, a pair that Fargate sells."""
    cpus = (_SMALLEST_CPU, *_SIZES)
    cpu = table.whole_or("cpu", _SMALLEST_CPU, _SMALLEST_CPU, cpus[-1])
    if cpu not in cpus:
        table.problem("cpu", f"want {' | '.join(map(str, cpus))}, got {cpu}")
        cpu = _SMALLEST_CPU
    if cpu == _SMALLEST_CPU:
        sold = list(_SMALLEST_MEMORY)
        wanted = " | ".join(map(str, sold))
    else:
        least, most, step = _SIZES[cpu]
        sold = list(range(least, most + 1, step))
        wanted = f"{least} to {most} by {step}"
    memory_mb = table.whole_or("memory_mb", sold[0], 1, 122_880)
    if memory_mb not in sold:
        table.problem("memory_mb", f"want {wanted} with cpu = {cpu}, got {memory_mb}")
        memory_mb = sold[0]
    return cpu, memory_mb


def _stall(table: Table, heartbeat: int) -> int:
    stall = table.whole_or("stall_seconds", 900, 1, _DAY)
    if stall < heartbeat:
        table.problem(
            "stall_seconds",
            f"want at least heartbeat_seconds ({heartbeat}): a run is looked at once"
            f" a heartbeat; got {stall}",
        )
    return stall


def _expectation(table: Table) -> dict[str, Any]:
    text = table.matching("business_hours", HOURS, "hours like 'MON-FRI 09:00-18:00'")
    minutes = table.whole("expect_every_minutes", 1, 24 * 60)
    given = [key for key in _EXPECTATION if table.has(key)]
    if len(given) == 1:
        (other,) = set(_EXPECTATION) - set(given)
        table.problem(given[0], f"want {other} beside it")
    if table.has("timezone") and not table.has("business_hours"):
        table.problem("timezone", "goes with business_hours; want it removed")
    found = HOURS.fullmatch(text or "")
    if found is not None and found[2] == found[3]:
        table.problem("business_hours", f"want hours that last, got {text!r}")
    return {
        "business_hours": text,
        "timezone": read_timezone(table),
        "expect_every_minutes": minutes,
    }


_EXPECTATION = ("business_hours", "expect_every_minutes")


def check_waits(table: Table, agent: Agent) -> None:
    """Note where an agent's attempts and waits could outlast its queue."""
    if agent.backoff_max_seconds < agent.backoff_base_seconds:
        table.problem(
            "backoff_max_seconds",
            f"want at least backoff_base_seconds ({agent.backoff_base_seconds}),"
            f" got {agent.backoff_max_seconds}",
        )
    if agent.max_duration_seconds < agent.longest_attempt_seconds:
        table.problem(
            "max_duration_seconds",
            f"want at least timeout_seconds ({agent.timeout_seconds}),"
            f" got {agent.max_duration_seconds}",
        )
    # SQS drops a message at the end of its retention, wherever it is: the last
    # receive, which writes the dead letter, must come before that.
    if agent.polls:
        # Its message is hidden for as long as it works, and waits after that.
        wait = agent.backoff_max_seconds + agent.longest_attempt_seconds
    else:
        wait = max(agent.backoff_max_seconds, agent.visibility_seconds)
    if agent.max_receives * wait > QUEUE_RETENTION_DAYS * _DAY:
        table.problem(
            "backoff_max_seconds",
            f"{agent.max_receives} receives with waits of {wait} s outlast the queue"
            f" ({QUEUE_RETENTION_DAYS} days); want fewer receives or shorter waits",
        )
