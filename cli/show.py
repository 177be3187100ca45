"""`bellhop show`: the whole story of one event."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from cli import ledger
from cli.events import told
from cli.output import FOUND
from cli.session import Session, verb
from lambdas.shared.clock import rfc3339
from lambdas.shared.errors import GiveUp
from lambdas.shared.event import Event
from lambdas.shared.story import (
    CheckpointRecord,
    RunRecord,
    State,
    Status,
    StepRecord,
    Story,
)

_RUNS = ("agent", "state", "attempt", "started_at", "finished_at", "due_at", "reason")
_CHECKPOINTS = ("agent", "version", "written_at", "attempt", "bytes")
_STEPS = ("agent", "name", "status", "started_at", "finished_at", "operation_id")

EventId = Annotated[
    str, typer.Argument(help="An event id, whole, as `bellhop events` tells it.")
]
Body = Annotated[
    bool, typer.Option("--body", help="Print the body as it was sent, nothing else.")
]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "show")(show)


def show(session: Session, event_id: EventId, *, body: Body = False) -> None:
    """Tell the whole story of one event: acceptance, runs, steps, effects, checkpoints.

    The body is shown only when asked for: it may hold personal data. Ends
    with 1 when a run is DEAD or an effect in doubt.
    """
    found = ledger.get(session.target, event_id)
    story = found.story
    if body:
        session.out.raw(_body(story.event))
        return
    states = found.states(session.target)
    runs = [_run(run) for run in story.runs]
    runs += [
        {"agent": agent, "state": state}
        for agent, state in states.items()
        if state == "QUEUED"
    ]
    steps = [_step(step) for step in story.steps]
    effects = [_step(effect) for effect in story.effects]
    checkpoints = [_checkpoint(each) for each in story.checkpoints]
    session.out.data(
        {
            **_head(story),
            "runs": runs,
            "steps": steps,
            "effects": effects,
            "checkpoints": checkpoints,
        }
    )
    if not session.out.as_json:
        session.out.pairs({**_head(story), "state": told(session, found)})
        for title, rows, columns in (
            ("runs", runs, _RUNS),
            ("steps", steps, _STEPS),
            ("effects", effects, _STEPS),
            ("checkpoints", checkpoints, _CHECKPOINTS),
        ):
            if rows:
                session.out.say(f"\n{title}", "bold")
                session.out.table(rows, columns, "")
    _advise(session, story)


def _head(story: Story) -> dict[str, Any]:
    event = story.event
    told_apart = {
        "event_id": event.id,
        "source": event.source,
        "kind": event.kind,
        "tenant": event.tenant,
        "actor": event.actor,
        "thread": event.thread,
        "occurred_at": rfc3339(event.occurred_at),
        "received_at": rfc3339(event.received_at),
        "expires_at": rfc3339(datetime.fromtimestamp(story.expires_at, UTC)),
        "via": story.via,
        "ignored": story.is_ignored,
        "unheard": story.is_unheard,
        "facts": dict(event.facts),
        "headers": dict(event.headers),
    }
    return {name: value for name, value in told_apart.items() if value is not None}


def _run(run: RunRecord) -> dict[str, Any]:
    reason = None
    if run.reason is not None:
        where = f" at {run.reason.downstream}" if run.reason.downstream else ""
        reason = f"{run.reason.category}{where}: {run.reason.message}"
    return {
        "agent": run.agent,
        "state": str(run.state),
        "attempt": run.attempt,
        "generation": run.generation,
        "started_at": _instant(run.started_at),
        "finished_at": _instant(run.finished_at),
        # One that was handed over is due, and waits for nothing but a worker.
        "due_at": None if run.state is State.SUSPENDED else _instant(run.due_at),
        "worked_ms": run.worked_ms,
        "reason": reason,
    }


def _step(step: StepRecord) -> dict[str, Any]:
    return {
        "agent": step.agent,
        "name": step.name,
        "status": str(step.status),
        "generation": step.generation,
        "started_at": _instant(step.started_at),
        "finished_at": _instant(step.finished_at),
        "operation_id": step.operation_id,
    }


def _checkpoint(checkpoint: CheckpointRecord) -> dict[str, Any]:
    return {
        "agent": checkpoint.agent,
        "version": checkpoint.version,
        "written_at": _instant(checkpoint.written_at),
        "attempt": checkpoint.attempt,
        "generation": checkpoint.generation,
        "bytes": checkpoint.bytes,
    }


def _instant(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return rfc3339(datetime.fromtimestamp(milliseconds / 1000, UTC))


def _body(event: Event) -> str:
    try:
        payload = event.payload
    except GiveUp as error:
        return str(error)
    if isinstance(payload, bytes):
        return payload.decode(errors="replace")
    return json.dumps(payload, indent=2, ensure_ascii=False)


def _advise(session: Session, story: Story) -> None:
    """Name the command that settles what is left open, and end with 1."""
    dead = [run.agent for run in story.runs if run.state is State.DEAD]
    doubtful = [
        effect
        for effect in story.effects
        if effect.status is Status.STARTED and effect.agent in dead
    ]
    for effect in doubtful:
        # The id is a sender's word, and this line is there to be pasted.
        words = shlex.join([story.event.id, effect.name])
        session.out.say(
            f"\n{effect.name} of {effect.agent} is in doubt; look at the other side,"
            f" then\n  bellhop resolve {words}"
            " --happened | --not-happened"
        )
    if dead:
        session.end(FOUND)
