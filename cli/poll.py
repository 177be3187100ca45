"""`bellhop poll`: look at a feed now, or see beforehand what would be accepted."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.output import FOUND, CliError, UsageError
from cli.quiet import quiet
from cli.session import Session, verb
from lambdas.shared import clock
from lambdas.shared.errors import BellhopError
from lambdas.shared.event import Event
from lambdas.shared.fleet import Feed, Fleet, FleetError, load
from lambdas.shared.ledger import Audit

if TYPE_CHECKING:
    from lambdas.poller.poller import Look, Poller

_COLUMNS = ("id", "kind", "occurred_at", "title")
_TOLD = (
    *("items", "accepted", "duplicates", "passed", "rest", "notes"),
    *("not_before", "moved_to"),
)

Source = Annotated[
    str, typer.Argument(help="A source whose sender is `feed`.", metavar="SOURCE")
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Show what would be accepted; nothing is written down."
    ),
]
FromFeed = Annotated[
    str | None,
    typer.Option(
        "--feed",
        help="A file or an address, instead of a stack: nothing need be deployed,"
        " nothing is written down.",
        metavar="FILE|URL",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "poll")(poll)


def poll(
    session: Session,
    source: Source,
    *,
    dry_run: DryRun = False,
    feed: FromFeed = None,
) -> None:
    """Look at a feed now, as its schedule would, and accept what is new.

    Never before the feed itself wants to be looked at again; one that is gone (410)
    is asked once more. A dry run fetches it in any case. Ends with 1 when the feed
    is not to be obeyed.
    """
    if feed is not None:
        _show(session, _beforehand(source, feed))
    elif dry_run:
        _show(session, _now(session, source))
    else:
        _poll(session, source)


def _poll(session: Session, source: str) -> None:
    with quiet(), session.target.outside():
        said = _poller(session, source).poll(source, again=True)
    state = str(said["state"])
    session.target.ledger.audit(
        Audit(
            id=str(uuid.uuid4()),
            at=session.target.now(),
            who=session.target.who(),
            what=f"feed looked at by hand: {state.partition(':')[0]}",
            about=source,
        )
    )
    session.out.data(said)
    is_refused = state.startswith("not obeyed")
    session.out.say(f"{source}: {state}", "yellow" if is_refused else "green")
    told = {name: said[name] for name in _TOLD if said.get(name)}
    if told and not session.out.as_json:
        session.out.pairs(told)
    if is_refused:
        session.end(FOUND)


def _now(session: Session, source: str) -> Look:
    """Look at a deployed feed, against what its stack knows."""
    try:
        with session.target.outside():
            return _poller(session, source).preview(source)
    except BellhopError as error:
        raise CliError(f"{source}: not obeyed: {error}") from error


def _poller(session: Session, source: str) -> Poller:
    """Return the poller of the stack, on this machine."""
    from lambdas.poller.poller import Poller
    from lambdas.shared.adapters import https
    from lambdas.shared.adapters.secretsmanager import SecretsManager
    from lambdas.shared.secrets import parse

    target = session.target
    _feed_of(target.fleet, source)
    store = SecretsManager(target.client("secretsmanager"))
    return Poller(
        fleet=target.fleet,
        ledger=target.ledger,
        table=target.table,
        exchange=https.exchange,
        secret_of=lambda name: parse(name, store.fetch(name)).current,
        clock=target.now,
    )


def _beforehand(source: str, place: str) -> Look:
    """Look at a file or an address as a poller would that knows nothing yet."""
    from lambdas.poller import poller, site
    from lambdas.poller.cursor import Position
    from lambdas.shared.adapters import https

    feed, now = _feed_of(_fleet(), source), clock.now()
    try:
        if "://" in place:
            asked = site.Asked(address=place, format=feed.format)
            got = site.get(https.exchange, asked, now)
        else:
            got = site.Got(body=_file(place))
        return poller.look_at(feed, Position(), got, now)
    except BellhopError as error:
        raise CliError(f"{place}: {error}") from error


def _file(place: str) -> bytes:
    from lambdas.poller.item import MOST_BYTES

    try:
        with Path(place).open("rb") as file:
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}") from error
    if len(body) > MOST_BYTES:
        raise CliError(f"{place}: more than {MOST_BYTES} bytes")
    return body


def _fleet() -> Fleet:
    try:
        return load()
    except FleetError as error:
        raise UsageError(str(error)) from error


def _feed_of(fleet: Fleet, source: str) -> Feed:
    if source in fleet.feeds:
        return fleet.feeds[source]
    there = ", ".join(fleet.feeds) or "none"
    raise UsageError(f"no feed {source!r} in fleet.toml; there are: {there}")


def _show(session: Session, look: Look) -> None:
    rows = [_row(event) for event in look.events]
    session.out.table(rows, _COLUMNS, "nothing would be accepted")
    for note in look.read.notes:
        session.out.say(note)
    if look.chosen is None:
        return
    if look.chosen.passed:
        session.out.say(
            f"passed over: {look.chosen.passed}, there before the feed was known"
            " (first_run)"
        )
    if look.chosen.rest:
        session.out.say(f"left to the next run: {look.chosen.rest} (max_items)")


def _row(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "kind": event.kind,
        "occurred_at": f"{event.occurred_at:%Y-%m-%d %H:%MZ}",
        "title": event.facts.get("title"),
        "facts": dict(event.facts),
        "tenant": event.tenant,
    }
