"""`bellhop doctor`: what is not as it must be, each finding with its mend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import typer

from cli.doctor import (
    alarms,
    around,
    containers,
    functions,
    grants,
    headroom,
    queues,
    routes,
    stores,
)
from cli.doctor.deployed import Deployed, Finding, looked
from cli.output import FOUND
from cli.session import Session, verb

_COLUMNS = ("check", "what", "mend")
_LET_ME = "let your credentials read it; an administrator's may"

_CHECKS: dict[str, Callable[[Deployed], Iterator[Finding]]] = {
    "account, region, stack and clock": around.look,
    "functions and what feeds them": functions.look,
    "containers and what scales them": containers.look,
    "queues and dead letters": queues.look,
    "rules, schedules and the door": routes.look,
    "ledger, payloads, key and secrets": stores.look,
    "permissions": grants.look,
    "alarms": alarms.look,
    "concurrency": headroom.look,
}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "doctor")(doctor)


def doctor(session: Session) -> None:
    """Compare what runs with what was deployed, and say what mends it.

    Looks at the account, region, stack, permissions, secrets, queues and their
    dead letters, rules, schedules, the ledger and the clock; changes nothing.
    Ends with 1 when something was found.
    """
    deployed = Deployed(session.target)
    found: list[Finding] = []
    with session.out.progress() as bar:
        task = bar.add_task("looking", total=len(_CHECKS))
        for name, check in _CHECKS.items():
            found += looked(name, partial(check, deployed), _LET_ME)
            bar.advance(task)
    rows = [{"check": f.check, "what": f.what, "mend": f.mend} for f in found]
    session.out.table(rows, _COLUMNS, f"all well: {', '.join(_CHECKS)}")
    if rows:
        session.end(FOUND)
