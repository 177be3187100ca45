"""`bellhop clock`: the local stack's own time, which can be set and moved."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli import times
from cli.output import UsageError
from cli.passing import passing
from cli.session import Session, verb
from lambdas.shared import clock
from lambdas.shared.clock import rfc3339

Instant = Annotated[
    str, typer.Argument(help="RFC 3339, `real`, or how long ago, such as 2h.")
]
Duration = Annotated[str, typer.Argument(help="How far: 90s, 15m, 2h, 1d12h.")]
Frozen = Annotated[
    bool, typer.Option("--frozen", help="Stand still there; else it runs on.")
]

# Beyond, sums of times leave what a date can be.
_EARLIEST, _LATEST = datetime(1971, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    group = typer.Typer(
        help="The local stack's time: show, set, advance.", no_args_is_help=True
    )
    verb(group, "show")(show)
    verb(group, "set")(set_)
    verb(group, "advance")(advance)
    app.add_typer(group, name="clock")


def show(session: Session) -> None:
    """Tell the time as the functions of the local stack see it."""
    _tell(session)


def set_(session: Session, instant: Instant, *, frozen: Frozen = False) -> None:
    """Set the time; `real` gives it back.

    Only what asks Bellhop's clock moves: freshness, leases, due times. Queues
    and streams of the engine keep the real time.
    """
    if instant == "real":
        _write(session, "")
    else:
        chosen = times.instant(instant, session.target.now())
        if not _EARLIEST <= chosen <= _LATEST:
            raise UsageError(
                f"want a time from {_EARLIEST:%Y} to {_LATEST:%Y}, got {instant!r}"
            )
        offset = (chosen - clock.now()).total_seconds()
        _write(session, rfc3339(chosen) if frozen else f"{offset:+.3f}")
    _tell(session)


def advance(session: Session, duration: Duration) -> None:
    """Let time pass: schedules fire on the way, each at its time.

    A tick is given a minute to be taken, and its run two to end while it is at
    work; then time goes on without it. A clock that stands still stays so. (`set`
    jumps: what is due in between does not fire, as in an outage.)
    """
    begun, length = session.target.now(), times.duration(duration)
    if length > _LATEST - begun:
        raise UsageError(f"{duration!r} leads beyond {_LATEST:%Y}")
    with session.out.progress() as bar:
        task = bar.add_task("time passes", total=length.total_seconds())
        for at in passing(
            session.target, begun + length, lambda instant: _move(session, instant)
        ):
            bar.update(task, completed=(at - begun).total_seconds())
    _tell(session)


def _move(session: Session, instant: datetime) -> None:
    """Move the clock to ``instant``; it runs on from there if it ran before."""
    text = _read(session)
    if text[:1] in {"", "+", "-"}:
        offset = (instant - clock.now()).total_seconds()
        _write(session, f"{offset:+.3f}")
    else:
        _write(session, rfc3339(instant))


def _file(session: Session) -> Path:
    file = session.target.clock_file
    if file is None:
        raise UsageError("only the local stack's time can be set; AWS keeps its own")
    return file


def _read(session: Session) -> str:
    file = _file(session)
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def _write(session: Session, text: str) -> None:
    """Replace the file whole: every function reads it at every call."""
    file = _file(session)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)


def _tell(session: Session) -> None:
    text = _read(session)
    how = "the real time"
    if text:
        how = "runs on" if text[0] in "+-" else "stands still"
    now = rfc3339(session.target.now())
    session.out.data({"now": now, "clock": text or "real", "how": how})
    session.out.say(f"{now}  ({how})")
