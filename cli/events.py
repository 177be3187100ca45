"""`bellhop events`, `bellhop tail`: what was accepted, and where it is by now."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any

import typer

from cli import ledger, times
from cli.ledger import Found
from cli.output import FOUND
from cli.session import Session, verb
from lambdas.shared.clock import rfc3339

_COLUMNS = ("received_at", "event_id", "kind", "agents")
_POLL_SECONDS = 1.0
# An index lags its table by moments, so each look goes a little further back.
_LAG = timedelta(seconds=10)

Since = Annotated[
    str, typer.Option(help="From then on: RFC 3339, or how long ago.", metavar="TIME")
]
Until = Annotated[
    str | None, typer.Option(help="Up to then; now by default.", metavar="TIME")
]
SourceName = Annotated[
    str | None, typer.Option("--source", help="Of this source only.", metavar="NAME")
]
State = Annotated[
    str | None,
    typer.Option(
        "--state",
        help="In this state: queued, failed, dead, unheard, ...",
        metavar="STATE",
    ),
]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="At most N.", metavar="N")]
For = Annotated[
    str | None, typer.Option("--for", help="Stop after this long.", metavar="TIME")
]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    verb(app, "events")(events)
    verb(app, "tail")(tail)


def events(
    session: Session,
    *,
    since: Since = "1h",
    until: Until = None,
    source: SourceName = None,
    state: State = None,
    limit: Limit = 50,
) -> None:
    """List the events accepted lately, the newest first.

    Ends with 1 when --state was given and something is in it.
    """
    now = session.target.now()
    start = times.instant(since, now)
    # The index is asked for what is before the end: let "now" be included.
    end = times.instant(until, now) if until else now + _LAG
    matching = (
        row
        for row in _rows(session, ledger.newest(session.target, start, end), source)
        if state is None
        or state.upper() in row["agents"].upper().replace("=", " ").split()
    )
    rows = list(itertools.islice(matching, limit))
    session.out.table(rows, _COLUMNS, "nothing was accepted in that time")
    if state is not None and rows:
        session.end(FOUND)


def tail(
    session: Session,
    *,
    since: Since = "0s",
    source: SourceName = None,
    duration: For = None,
) -> None:
    """Follow the ledger: each event as it is accepted, and again as it moves on.

    With --json, one object a line. Ctrl-C ends it.
    """
    target = session.target
    begun = times.instant(since, target.now())
    length = times.duration(duration) if duration else None
    ends = time.monotonic() + length.total_seconds() if length else None
    seen: dict[str, str] = {}
    while ends is None or time.monotonic() < ends:
        ids = ledger.newest(target, begun, target.now() + _LAG)
        for row in reversed(list(_rows(session, ids, source))):
            if seen.get(row["event_id"]) != row["agents"]:
                seen[row["event_id"]] = row["agents"]
                session.out.line(row, _COLUMNS)
        time.sleep(_POLL_SECONDS)


def _rows(
    session: Session, ids: Iterator[str], source: str | None
) -> Iterator[dict[str, Any]]:
    for event_id in ids:
        if source is not None and not event_id.startswith(f"{source}:"):
            continue
        found = ledger.find(session.target, event_id)
        if found is not None:
            yield {
                "received_at": rfc3339(found.story.event.received_at),
                "event_id": event_id,
                "kind": found.story.event.kind,
                "agents": told(session, found),
            }


def told(session: Session, found: Found) -> str:
    """Return where each agent is with the event, in one line."""
    states = found.states(session.target)
    # A tick that was skipped is passed over as well, and has its own word for it.
    if found.story.is_ignored and not states:
        return "ignored"
    if not states:
        return "unheard" if found.story.is_unheard else "QUEUED"
    return " ".join(f"{agent}={state}" for agent, state in sorted(states.items()))
