"""`bellhop relay`: after a long outage, relay at once what reached no agent."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cli import times
from cli.output import FOUND
from cli.quiet import quiet
from cli.session import Session, verb
from cli.target import Target
from lambdas.shared.adapters.eventbridge import EventBridge
from lambdas.sweep.sweep import Sweep

_COLUMNS = ("read", "relayed", "refused", "unheard")

Since = Annotated[
    str,
    typer.Option(help="Accepted from then on: RFC 3339, or 6h ago.", metavar="TIME"),
]
Until = Annotated[
    str, typer.Option(help="Accepted before then; ten minutes ago.", metavar="TIME")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Count them, and relay nothing.")
]


class _NotAsked:
    """An operator's word stands in for the look at the queues."""

    def waiting(self, agent: str) -> int:
        raise NotImplementedError(agent)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "relay")(relay)


def relay(
    session: Session, *, since: Since, until: Until = "10m", dry_run: DryRun = False
) -> None:
    """Relay again what was accepted in that time and has no run yet.

    The sweep does so by itself within an hour; this is for an outage that was
    longer, or when nobody wants to wait. What still waits in an agent's queue
    is relayed once more, and does nothing: one run an event, however often it
    comes. Ends with 1 when the bus refused some.
    """
    target = session.target
    now = target.now()
    with quiet():
        tally = _sweep(target).relay(
            times.instant(since, now), times.instant(until, now), publish=not dry_run
        )
    session.out.table([asdict(tally)], _COLUMNS, "")
    if dry_run:
        session.out.say("nothing was relayed: leave --dry-run out to do it")
    if tally.refused:
        session.end(FOUND)


def _sweep(target: Target) -> Sweep:
    return Sweep(
        agents=target.fleet.agents.values(),
        bus=EventBridge(target.bus, lambda: target.client("events")),
        ledger=target.ledger,
        table=target.table,
        backlogs=_NotAsked(),
        clock=target.now,
    )
