"""`bellhop schedules`, `bellhop tick`: what the clock wakes, and waking it by hand."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from cli import times
from cli.output import FOUND, UsageError
from cli.quiet import quiet
from cli.session import Session, verb
from cli.target import Target
from lambdas.shared.clock import rfc3339
from lambdas.shared.cron import times_of
from lambdas.shared.fleet import Schedule
from lambdas.shared.ledger import Audit
from lambdas.shared.story import RUN
from lambdas.shared.table import Row
from lambdas.shared.ticks import (
    MISSED,
    Fired,
    Line,
    Standing,
    Tick,
    Ticks,
    pk_of,
    planned_of,
    text_of,
)

_COLUMNS = (
    *("schedule", "expression", "timezone", "next", "last", "state"),
    *("overlap", "waiting", "missed"),
)
_SAID = {
    Fired.RUN: "accepted: its agent runs",
    Fired.WAITING: "in line: it runs when the ticks before it are over",
    Fired.SKIPPED: "skipped: an earlier tick is not over",
    Fired.MISSED: "not run: it is too late",
}

Name = Annotated[str, typer.Argument(help="A schedule of fleet.toml.")]
At = Annotated[
    str | None,
    typer.Option(
        "--at", help="Its planned time: RFC 3339, or 2h ago; now.", metavar="TIME"
    ),
]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    verb(app, "schedules")(schedules)
    verb(app, "tick")(tick)


def schedules(session: Session) -> None:
    """List the schedules: next and last fire, who is at work, what was missed."""
    target = session.target
    ticks = ticks_of(target)
    rows = [_row(ticks, each, target) for each in target.fleet.schedules.values()]
    session.out.table(rows, _COLUMNS, "fleet.toml has no schedules")


def tick(session: Session, name: Name, *, at: At = None) -> None:
    """Let a schedule fire now, or make up for a fire that was missed.

    A tick has one id, its schedule and its planned time: one that came already
    does nothing. Ends with 1 when it is not run.
    """
    target = session.target
    schedule = target.fleet.schedules.get(name)
    if schedule is None:
        there = ", ".join(target.fleet.schedules) or "none"
        raise UsageError(
            f"no schedule {name!r} in fleet.toml{target.as_of}; there are: {there}"
        )
    now = target.now()
    planned = (times.instant(at, now) if at else now).replace(microsecond=0)
    ticks = ticks_of(target)
    with quiet():
        fired = ticks.fire(schedule, planned, however_late=True)
    ids = Tick.of(schedule, planned).ids
    target.ledger.audit(
        Audit(
            id=str(uuid.uuid4()),
            at=now,
            who=target.who(),
            what=f"tick by hand: {fired}",
            about=ids[0],
        )
    )
    session.out.data({"schedule": name, "planned": text_of(planned), "fired": fired})
    said = _SAID.get(fired) or f"nothing to do: it came before ({_state(ticks, ids)})"
    session.out.say(f"{', '.join(ids)}\n{said}")
    if fired in {Fired.SKIPPED, Fired.MISSED}:
        session.end(FOUND)


def ticks_of(target: Target) -> Ticks:
    """Return what takes ticks, over the stack that a verb goes to."""
    return Ticks(
        fleet=target.fleet, ledger=target.ledger, table=target.table, clock=target.now
    )


def _state(ticks: Ticks, ids: list[str]) -> str:
    agents = ticks.fleet.agents.values()
    for agent in agents:
        run = ticks.table.get(ids[0], f"{RUN}{agent.key}")
        if run is not None:
            return str(run["state"])
    return "QUEUED"


def _row(ticks: Ticks, schedule: Schedule, target: Target) -> dict[str, Any]:
    line = ticks.line(schedule)
    state = line.state()
    return {
        "schedule": schedule.name,
        "expression": schedule.expression,
        "timezone": schedule.timezone,
        "next": _next(schedule, state, target.now()),
        "last": state.get("last_planned"),
        "state": _standing(schedule, line, state),
        "overlap": schedule.overlap,
        "waiting": len(line.waiting()),
        "missed": sum(1 for _ in target.table.query(pk_of(schedule.name), MISSED)),
    }


def _next(schedule: Schedule, state: Row, now: datetime) -> str | None:
    if not schedule.enabled:
        return None
    last = state.get("last_planned")
    if schedule.rate is not None and last is None:
        # Scheduler counts from when it was made, which only its first tick tells.
        return f"within {schedule.rate}"
    anchor = planned_of(last) if last else now
    due = next(times_of(schedule, anchor=anchor).after(now), None)
    return rfc3339(due.astimezone(UTC)) if due else None


def _standing(schedule: Schedule, line: Line, state: Row) -> str:
    if not schedule.enabled:
        return "off"
    last = state.get("last_planned")
    if last is None:
        return "never fired"
    look = line.look(Tick.of(schedule, planned_of(state.get("active") or last)).ids)
    if look.standing is Standing.GOING:
        return "at work"
    states = sorted({str(run["state"]) for run in look.runs})
    return "idle" + (f" ({', '.join(states)})" if states else "")
