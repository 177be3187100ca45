"""`bellhop resolve`: settle an effect whose outcome nobody recorded."""

from __future__ import annotations

import uuid
from typing import Annotated

import typer

from cli import ledger
from cli.output import CliError, UsageError
from cli.session import Session, verb
from lambdas.shared.ledger import Audit
from lambdas.shared.story import State, Status, StepRecord, Story

# Somebody may be sending the effect at this moment.
_AT_WORK = frozenset({State.PROCESSING})

EventId = Annotated[str, typer.Argument(help="An event id.")]
EffectName = Annotated[
    str,
    typer.Argument(help="The effect's name; AGENT/NAME where two agents have it."),
]
Happened = Annotated[
    bool | None,
    typer.Option("--happened/--not-happened", help="What you found at the other side."),
]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "resolve")(resolve)


def resolve(
    session: Session,
    event_id: EventId,
    effect: EffectName,
    *,
    happened: Happened = None,
) -> None:
    """Say whether an effect in doubt happened; look at the other side first.

    --happened: it is not sent again. --not-happened: the next run sends it.
    Then redrive the dead letter; the run goes on from there.
    """
    if happened is None:
        raise UsageError("say --happened or --not-happened")
    target = session.target
    story = ledger.get(target, event_id).story
    chosen = _chosen(story, effect)
    _refuse_at_work(story, chosen)
    status = Status.HAPPENED if happened else Status.NOT_HAPPENED
    now = target.now()
    if not target.ledger.settle(
        event_id, chosen.agent, chosen.name, happened=happened, at=now
    ):
        raise CliError(f"{effect} was settled by somebody else a moment ago")
    target.ledger.audit(
        Audit(
            id=str(uuid.uuid4()),
            at=now,
            who=target.who(),
            what=f"effect resolved as {status}",
            about=f"{event_id} {chosen.agent}/{chosen.name}",
        )
    )
    session.out.data(
        {"event_id": event_id, "agent": chosen.agent, "effect": chosen.name}
        | {"status": str(status)}
    )
    session.out.say(
        f"{chosen.name} of {chosen.agent}: {status}; redrive the dead letter"
        " and the run goes on"
    )


def _chosen(story: Story, name: str) -> StepRecord:
    agent, _, bare = name.rpartition("/")
    found = [
        effect
        for effect in story.effects
        if effect.name == name or (effect.name == bare and effect.agent == agent)
    ]
    if not found:
        there = ", ".join(f"{e.agent}/{e.name}" for e in story.effects) or "none"
        raise UsageError(f"no effect {name!r} of this event; there are: {there}")
    if len(found) > 1:
        both = ", ".join(f"{effect.agent}/{effect.name}" for effect in found)
        raise UsageError(f"which of them: {both}")
    (chosen,) = found
    if chosen.status is not Status.STARTED:
        raise CliError(f"{name} is not in doubt: it is {chosen.status}")
    return chosen


def _refuse_at_work(story: Story, effect: StepRecord) -> None:
    for run in story.runs:
        if run.agent == effect.agent and run.state in _AT_WORK:
            raise CliError(
                f"{run.agent} is at work on this event; wait until it has ended"
            )
