"""Lets time pass on the local stack: from fire to fire, each at its own time.

A clock that merely jumps makes a hole, in which nothing fires; see
``local/scheduler.py``, which says in a file how far it has come.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from cli.schedules import ticks_of
from cli.target import Target
from lambdas.shared.story import State
from lambdas.shared.ticks import Standing, Tick, Ticks, planned_of

_SCHEDULER_SECONDS = 60
# Real seconds that a tick is given to be taken, and then its run to end, before time
# goes on without it. A function's first start on a busy machine takes a while, and
# one that is left behind makes the next tick of its schedule be skipped.
_TAKEN_SECONDS, _RUN_SECONDS = 60, 120
# One that failed, or handed over, waits for a time that may be far.
_PUT_OFF_SECONDS = 10
_POLL_SECONDS = 0.15


def passing(
    target: Target, end: datetime, move: Callable[[datetime], None]
) -> Iterator[datetime]:
    """Move the clock to each fire before ``end``, then to ``end``.

    Yields every instant it has been moved to, when the ticks due then are
    over, or have been given time. Without a local scheduler it moves at once.
    """
    file = None if target.clock_file is None else target.clock_file
    if file is None or not file.with_name("schedules.json").exists():
        move(end)
        yield end
        return
    told = file.with_name("schedules.json")
    ticks = ticks_of(target)
    at = target.now()
    while at < end:
        coming = _come(told, at)["next"]
        due = datetime.fromisoformat(coming) if coming else end
        # The scheduler has just said that nothing is due before.
        before, at = at, min(max(due, at), end)
        move(at)
        _wait_for_runs(ticks, _come(told, at), before)
        yield at


def _come(file: Path, instant: datetime) -> dict[str, Any]:
    """Return what the scheduler says once it has come as far as ``instant``."""
    deadline = time.monotonic() + _SCHEDULER_SECONDS
    while True:
        told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        has_come = datetime.fromisoformat(told["at"]) >= _milliseconds(instant)
        if has_come or time.monotonic() > deadline:
            return told
        time.sleep(_POLL_SECONDS)


def _wait_for_runs(ticks: Ticks, told: dict[str, Any], since: datetime) -> None:
    """Return when the ticks sent since then are over, in line, or at work for long."""
    began = time.monotonic()
    sent = [s for s in told["sent"] if datetime.fromisoformat(s["due"]) > since]
    inputs = [json.loads(each["input"]) for each in sent]
    while inputs:
        took = time.monotonic() - began
        inputs = [each for each in inputs if took < _patience(ticks, each)]
        time.sleep(_POLL_SECONDS)


def _patience(ticks: Ticks, told: dict[str, str]) -> float:
    """Return how many seconds a tick is worth waiting for, where it is now."""
    schedule = ticks.fleet.schedules.get(told.get("schedule", ""))
    if schedule is None:
        return 0
    planned = planned_of(told["planned"])
    line = ticks.line(schedule)
    if planned in {each.planned for each in line.waiting()}:
        return 0
    look = line.look(Tick.of(schedule, planned).ids)
    match look.standing:
        case Standing.UNACCEPTED:
            return _TAKEN_SECONDS
        case Standing.GOING:
            states = {run.get("state") for run in look.runs}
            is_put_off = states & {State.FAILED, State.SUSPENDED}
            return _PUT_OFF_SECONDS if is_put_off else _RUN_SECONDS
        case _:
            return 0


def _milliseconds(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)
