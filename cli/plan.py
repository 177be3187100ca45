"""`bellhop plan`: what will begin when, because of which entry, and what will not."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.output import FOUND, CliError, UsageError
from cli.session import Session, verb
from lambdas.shared import clock
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import Calendar, Fleet, FleetError, load
from lambdas.shared.ledger import Audit

if TYPE_CHECKING:
    from lambdas.planner.occurrence import Reading, Window
    from lambdas.planner.plan import Plan
    from lambdas.planner.record import Record
    from lambdas.planner.task import Task

_COLUMNS = ("calendar", "begins", "deadline", "category", "agent", "state", "title")
_WHY = "why"
# What is done, or missed, is shown for so long.
_SHOWN = timedelta(days=7)

Days = Annotated[
    int | None, typer.Option(min=1, max=366, help="Look so far ahead.", metavar="N")
]
Explain = Annotated[
    bool, typer.Option("--explain", help="Say why, and what is passed over and why.")
]
FromFeed = Annotated[
    str | None,
    typer.Option(
        "--feed",
        help="An iCal file or address, or a file with a key of Google's, instead of a"
        " stack: nothing need be deployed.",
        metavar="FILE|URL",
    ),
]
Name = Annotated[
    str | None, typer.Option("--calendar", help="Of this one only.", metavar="NAME")
]
Believe = Annotated[
    str | None,
    typer.Option(
        "--believe",
        help="What is gone from this calendar is gone: the next look cancels it.",
        metavar="NAME",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "plan")(plan)


def plan(
    session: Session,
    *,
    days: Days = None,
    explain: Explain = False,
    feed: FromFeed = None,
    name: Name = None,
    believe: Believe = None,
) -> None:
    """Show what will begin when: from the calendars, or from a feed beforehand.

    Nothing is changed. Ends with 1 when a calendar could not be read, or says what
    is not obeyed.
    """
    if believe is not None:
        _believe(session, believe)
        return
    if feed is not None:
        fleet = _fleet()
        calendar = _one(fleet, name)
        looks = [_look_at(calendar, feed, days)]
    else:
        fleet = session.target.fleet
        looks = [_look(session, each, days) for each in _chosen(fleet, name)]
    _show(session, looks, explain=explain)
    if any(look.why or (look.made and look.made.held) for look in looks):
        session.end(FOUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What came of one calendar; ``why`` it was not read, if so."""

    calendar: Calendar
    tasks: tuple[Task, ...]
    reasons: Mapping[str, str]
    made: Plan | None = None
    notes: tuple[str, ...] = ()
    why: str = ""


def _look_at(calendar: Calendar, place: str, days: int | None) -> _Look:
    """Plan from a file or an address, as a planner would that knows nothing yet."""
    from lambdas.planner import bounded
    from lambdas.planner.record import Record

    now = clock.now()
    record = Record(calendar=calendar.name, since=now)
    window = _window(calendar, now, days)
    try:
        body = _body(place)
        if calendar.feed == "google" and body.lstrip().startswith(b"{"):
            reading = _read(calendar, window, record, body.decode("utf-8", "replace"))
        else:
            reading = bounded.expand(body, window, calendar.timezone)
        return _planned(calendar, reading, {}, record, now, days)
    except BellhopError as error:
        raise CliError(f"{place}: {error}") from error


def _look(session: Session, calendar: Calendar, days: int | None) -> _Look:
    """Plan from the deployed calendar, against what its stack knows."""
    from lambdas.planner.record import Record
    from lambdas.planner.task import TASK, Task, pk_of
    from lambdas.shared.adapters.secretsmanager import SecretsManager
    from lambdas.shared.secrets import parse

    target = session.target
    now = target.now()
    record = Record.read(target.table, calendar.name, now)
    rows = target.table.query(pk_of(calendar.name), TASK)
    known = {task.id: task for task in map(Task.from_row, rows)}
    store = SecretsManager(target.client("secretsmanager"))
    window = _window(calendar, now, days)
    try:
        secret = parse(calendar.secret_name, store.fetch(calendar.secret_name))
        # All of it: what the planner has kept of an earlier look is the planner's.
        anew = Record(calendar=calendar.name, since=record.since)
        with target.outside():
            reading = _read(calendar, window, anew, secret.current)
        return _planned(calendar, reading, known, record, now, days)
    except BellhopError as error:
        tasks = tuple(sorted(known.values(), key=lambda task: task.begin_at))
        return _Look(calendar=calendar, tasks=tasks, reasons={}, why=str(error))


def _read(calendar: Calendar, window: Window, record: Record, secret: str) -> Reading:
    """Read the calendar as its planner does; nothing of it is kept."""
    from lambdas.planner.wiring import feeds

    read = feeds(lambda _: secret, _Nowhere())[calendar.feed]
    return read(calendar, window, record)[0]


class _Nowhere:
    """Keeps nothing: a look is for a person."""

    def put(self, key: str, data: bytes) -> None:
        """Forget it."""

    def get(self, key: str) -> bytes | None:  # noqa: ARG002 - there is nothing
        """Know nothing."""
        return None


def _window(calendar: Calendar, now: datetime, days: int | None) -> Window:
    from lambdas.planner.planner import window_of

    return window_of(calendar, now, since=now - timedelta(days=1), days=days)


def _body(place: str) -> bytes:
    from lambdas.planner import feed
    from lambdas.planner.ical import MOST_BYTES
    from lambdas.shared.adapters import https

    if "://" in place:
        return feed.get(https.exchange, place).body or b""
    try:
        with Path(place).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}") from error


def _planned(
    calendar: Calendar,
    reading: Reading,
    known: Mapping[str, Task],
    record: Record,
    now: datetime,
    days: int | None,
) -> _Look:
    from lambdas.planner.plan import Asked
    from lambdas.planner.plan import plan as make
    from lambdas.planner.wiring import rules_of

    asked = Asked(
        calendar=calendar.name,
        now=now,
        since=record.since,
        window=_window(calendar, now, days),
        believe_shrink=record.is_shrink_believed,
    )
    made = make(reading, known, rules_of(calendar), asked)
    # The window is wider by the buffers: later starts are the next look's.
    until = now + timedelta(days=days or calendar.days_ahead)
    return _Look(
        calendar=calendar,
        tasks=tuple(
            t for t in made.tasks if now - _SHOWN < t.over_at and t.begin_at < until
        ),
        reasons={change.task.id: change.why for change in made.changes},
        made=made,
        notes=reading.notes,
    )


def _show(session: Session, looks: list[_Look], *, explain: bool) -> None:
    rows = [_row(task, look) for look in looks for task in look.tasks]
    columns = (*_COLUMNS, _WHY) if explain else _COLUMNS
    session.out.table(rows, columns, "nothing is planned")
    for look in looks:
        name = look.calendar.name
        if look.why:
            session.out.say(f"\n{name}: not obeyed: {look.why}")
        for held in look.made.held if look.made else ():
            session.out.say(f"\n{name}: not obeyed: {held}")
        if explain and look.made is not None:
            for title, why in look.made.skipped:
                session.out.say(f"{name}: passed over: {title or '(no title)'}: {why}")
            for note in look.notes:
                session.out.say(f"{name}: {note}")


def _row(task: Task, look: _Look) -> dict[str, Any]:
    return {
        "calendar": task.calendar,
        "begins": f"{task.begin_at:%Y-%m-%d %H:%MZ}",
        "deadline": f"{task.deadline:%Y-%m-%d %H:%MZ}",
        "category": task.category,
        "agent": task.agent,
        "state": str(task.state),
        "title": task.title,
        "why": look.reasons.get(task.id, "as before"),
        "id": task.id,
    }


def _fleet() -> Fleet:
    try:
        return load()
    except FleetError as error:
        raise UsageError(str(error)) from error


def _one(fleet: Fleet, name: str | None) -> Calendar:
    chosen = _chosen(fleet, name)
    if len(chosen) != 1:
        there = ", ".join(fleet.calendars)
        raise UsageError(f"say which calendar the feed is: --calendar {there}")
    return chosen[0]


def _chosen(fleet: Fleet, name: str | None) -> list[Calendar]:
    there = ", ".join(fleet.calendars) or "none"
    if not fleet.calendars:
        raise UsageError("fleet.toml has no calendars: want [calendars.NAME]")
    if name is None:
        return list(fleet.calendars.values())
    if name not in fleet.calendars:
        raise UsageError(f"no calendar {name!r} in fleet.toml; there are: {there}")
    return [fleet.calendars[name]]


def _believe(session: Session, name: str) -> None:
    from lambdas.planner.record import believe

    target = session.target
    _chosen(target.fleet, name)
    believe(target.table, name)
    target.ledger.audit(
        Audit(
            id=str(uuid.uuid4()),
            at=target.now(),
            who=target.who(),
            what="calendar believed",
            about=name,
        )
    )
    session.out.data({"calendar": name, "believed": True})
    session.out.say(f"{name}: what is gone is cancelled by the next look")
