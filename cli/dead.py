"""`bellhop dead`: the dead letters by group, and what was decided about each."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from cli import letters, times
from cli.output import FOUND
from cli.session import Session, verb
from lambdas.dlq_digest import wording
from lambdas.dlq_digest.report import Group, Report
from lambdas.shared.clock import rfc3339
from lambdas.shared.groups import Groups, Standing
from lambdas.shared.ledger import Audit

_COLUMNS = (
    *("group", "letters", "agent", "category", "downstream", "news", "oldest"),
    *("expires_in", "standing", "message"),
)
_LETTERS = ("event_id", "died_at", "expires_at", "message_id")
_LONGEST_MESSAGE = 80

GroupId = Annotated[
    str, typer.Argument(metavar="GROUP", help="A group's id, or how it begins.")
]
Agent = Annotated[str | None, typer.Option(help="Of this agent only.", metavar="NAME")]
Category = Annotated[
    str | None, typer.Option(help="Of this category only.", metavar="NAME")
]
All = Annotated[
    bool, typer.Option("--all", help="Acknowledged, ignored and resolved ones too.")
]
Note = Annotated[
    str | None, typer.Option(help="Why, or where it is followed.", metavar="TEXT")
]
For = Annotated[
    str, typer.Option("--for", help="Say nothing about it for so long.", metavar="TIME")
]


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    group = typer.Typer(
        help="Dead letters: list, show, ack, ignore, resolve.", no_args_is_help=True
    )
    verb(group, "list")(list_)
    verb(group, "show")(show)
    verb(group, "ack")(ack)
    verb(group, "ignore")(ignore)
    verb(group, "resolve")(resolve)
    app.add_typer(group, name="dead")


def list_(
    session: Session,
    *,
    agent: Agent = None,
    category: Category = None,
    everything: All = False,
) -> None:
    """List the dead letters by fault, the most frequent first.

    Ends with 1 when there are any.
    """
    found = letters.report(session.target)
    groups = [
        group
        for group in (found.groups if everything else found.open)
        if agent in {None, group.agent} and category in {None, str(group.blame)}
    ]
    rows = [_row(group, found) for group in groups]
    session.out.table(rows, _COLUMNS, "no dead letters")
    for vendor in found.vendors():
        session.out.say(wording.verdict(vendor), "bold")
    sampled = wording.sampling(found)
    for remark in [*found.remarks, *([sampled] if sampled else [])]:
        session.out.say(remark)
    if rows:
        session.end(FOUND)


def show(session: Session, group_id: GroupId, *, agent: Agent = None) -> None:
    """Tell all about one group, and how to send it round again."""
    target = session.target
    found = letters.report(target)
    group = letters.find(found, group_id, agent)
    links = letters.links(target)
    head = {
        **_row(group, found),
        "message": group.message,
        "type": group.type,
        "ended": group.category,
        "decided_by": group.decision.by,
        "note": group.decision.note,
        "replay": links.command(group),
        "console": links.console(group),
    }
    listed = [
        {
            "event_id": letter.event_id,
            "died_at": _instant(letter.died_ms),
            "expires_at": _instant(letter.expires_ms),
            "message_id": letter.message_id,
        }
        for letter in sorted(group.letters, key=lambda letter: letter.died_ms)
    ]
    session.out.data({**head, "dead_letters": listed})
    if not session.out.as_json:
        session.out.pairs({k: v for k, v in head.items() if v is not None})
        session.out.say("")
        session.out.table(listed, _LETTERS, "")


def ack(
    session: Session, group_id: GroupId, *, agent: Agent = None, note: Note = None
) -> None:
    """Say that somebody is at it: the digest keeps quiet until it recurs."""
    _decide(session, group_id, agent, Standing.ACKNOWLEDGED, note)


def ignore(
    session: Session,
    group_id: GroupId,
    *,
    agent: Agent = None,
    length: For = "7d",
    note: Note = None,
) -> None:
    """Say that it does not matter for now: quiet even when it recurs, for so long."""
    until = session.target.now() + times.duration(length)
    _decide(session, group_id, agent, Standing.IGNORED, note, until)


def resolve(
    session: Session, group_id: GroupId, *, agent: Agent = None, note: Note = None
) -> None:
    """Say that the fault is mended; it opens again by itself if it recurs."""
    _decide(session, group_id, agent, Standing.RESOLVED, note)


def _decide(
    session: Session,
    group_id: GroupId,
    agent: str | None,
    standing: Standing,
    note: str | None,
    until: datetime | None = None,
) -> None:
    target = session.target
    group = letters.find(letters.report(target), group_id, agent)
    now, who = target.now(), target.who()
    Groups(target.table).decide(
        group.fingerprint, group.agent, standing, by=who, at=now, note=note, until=until
    )
    target.ledger.audit(
        Audit(
            id=str(uuid.uuid4()),
            at=now,
            who=who,
            what=f"group {standing.lower()}" + (f": {note}" if note else ""),
            about=f"{group.agent} {group.fingerprint}",
        )
    )
    told = {"group": group.fingerprint, "agent": group.agent, "standing": str(standing)}
    session.out.data(told)
    end = f" until {rfc3339(until)}" if until else ""
    session.out.say(
        f"{group.fingerprint} of {group.agent} is {standing.lower()}{end}:"
        f" {wording.letters(group.count)}"
    )


def _row(group: Group, found: Report) -> dict[str, Any]:
    return {
        "group": group.fingerprint,
        "letters": group.count,
        "agent": group.agent,
        "queue": group.queue,
        "category": str(group.blame),
        "downstream": group.downstream,
        "news": wording.news(group) or None,
        "oldest": wording.age(group.oldest_ms, found.at),
        "expires_in": wording.remaining(group.expires_ms, found.at),
        "standing": str(group.standing),
        "message": wording.one_line(f"{group.type}: {group.message}", _LONGEST_MESSAGE),
    }


def _instant(ms: int) -> str:
    return rfc3339(datetime.fromtimestamp(ms / 1000, UTC))
