"""`bellhop`: one verb per module, put together."""

from __future__ import annotations

import typer

from cli import (
    audit,
    clocks,
    dead,
    digest,
    doctor,
    events,
    plan,
    poll,
    relay,
    replay,
    resolve,
    schedules,
    secret,
    send,
    show,
    work,
)
from cli.asked import Verbs

app = typer.Typer(
    name="bellhop",
    cls=Verbs,
    help="Play, watch and repair a Bellhop: the local one, or one in your account.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for module in (
    *(send, events, show, resolve, dead, replay, digest, doctor),
    *(relay, secret, schedules, plan, poll, work, clocks, audit),
):
    module.register(app)
