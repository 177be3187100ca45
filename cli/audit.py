"""`bellhop audit`: who did what, and when: senders, agents and operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from cli import ledger, times
from cli.ledger import Found
from cli.session import Session, verb
from cli.target import Target
from lambdas.shared.clock import rfc3339

_COLUMNS = ("at", "who", "what", "about")

EventId = Annotated[
    str | None,
    typer.Argument(help="Of this event alone, from its acceptance on."),
]
Since = Annotated[
    str, typer.Option(help="From then on: RFC 3339, or how long ago.", metavar="TIME")
]
Until = Annotated[
    str | None, typer.Option(help="Up to then; now by default.", metavar="TIME")
]
Everything = Annotated[
    bool,
    typer.Option(
        "--all", help="With what was accepted and run, not operators' acts alone."
    ),
]


@dataclass(frozen=True, slots=True, order=True)
class Act:
    """Something that somebody did."""

    at: str
    who: str
    what: str
    about: str


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "audit")(audit)


def audit(
    session: Session,
    event: EventId = None,
    *,
    since: Since = "24h",
    until: Until = None,
    everything: Everything = False,
) -> None:
    """Say who did what: replayed, resolved, acknowledged, rotated; oldest first.

    Entries are only ever added, and never expire. What was accepted and run is
    in the ledger itself: it is told of one EVENT, or with --all.
    """
    target = session.target
    now = target.now()
    end = times.instant(until, now) if until else now + timedelta(seconds=1)
    if event is None:
        start = times.instant(since, now)
        acts = list(_by_operators(target, start, end))
        if everything:
            for event_id in ledger.newest(target, start, end):
                found = ledger.find(target, event_id)
                acts += _of(found) if found else []
    else:
        whole = ledger.get(target, event)
        acts = _of(whole)
        # The operator's clock and AWS's may differ by moments.
        start = whole.story.event.received_at - timedelta(minutes=5)
        acts += [
            act
            for act in _by_operators(target, start, end)
            if event in act.about.split()
        ]
    rows = [
        {"at": a.at, "who": a.who, "what": a.what, "about": a.about}
        for a in sorted(acts)
    ]
    session.out.table(rows, _COLUMNS, "nothing was done in that time")


def _by_operators(target: Target, start: datetime, end: datetime) -> Iterator[Act]:
    day = start.astimezone(UTC).date()
    while day <= end.astimezone(UTC).date():
        for row in target.table.query(f"audit#{day}"):
            at = row["sk"].partition("#")[0]
            if rfc3339(start) <= at < rfc3339(end):
                yield Act(at, row["who"], row["what"], row["about"])
        day += timedelta(days=1)


def _of(found: Found) -> list[Act]:
    """Return who sent an event, and which agents ran it."""
    event = found.story.event
    sender = " ".join(filter(None, [event.source, event.actor]))
    received = rfc3339(event.received_at)
    acts = [Act(received, sender, f"accepted by the {found.story.via}", event.id)]
    for run in found.story.runs:
        for at, what in (
            (run.started_at, "last attempt started"),
            (run.finished_at, f"{run.state} after {run.attempt} attempts"),
        ):
            if at is not None:
                instant = datetime.fromtimestamp(at / 1000, UTC)
                acts.append(Act(rfc3339(instant), run.agent, what, event.id))
    return acts
