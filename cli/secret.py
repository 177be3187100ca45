"""`bellhop secret`: put a secret where its reader finds it; rotate a source's."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from typing import Annotated, Any

import typer

from cli import forms, matched, rotation, vault
from cli.output import FOUND, CliError, UsageError
from cli.session import Session, verb
from cli.signers import Signer, names
from lambdas.shared import senders
from lambdas.shared.clock import rfc3339
from lambdas.shared.errors import Misconfigured
from lambdas.shared.secrets import Secret

_COLUMNS = ("source", "which", "fingerprint", "live_until", "matched_last_hour", "note")

SourceName = Annotated[str, typer.Argument(help="A source of fleet.toml.")]
AnyName = Annotated[
    str,
    typer.Argument(
        help="A source of fleet.toml, calendars.NAME, or digest.", metavar="NAME"
    ),
]
AnyOrAll = Annotated[
    str | None,
    typer.Argument(help="One of them; all if none is named.", metavar="NAME"),
]
Generate = Annotated[
    bool,
    typer.Option(
        "--generate",
        help="Make up the value, and print it once for you to paste at the sender.",
    ),
]
Hours = Annotated[
    float,
    typer.Option(
        min=0.1, max=24 * 14, help="How long the old one stays accepted.", metavar="N"
    ),
]
Now = Annotated[bool, typer.Option("--now", help="Although the old one is in use.")]


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    group = typer.Typer(
        help="The secrets of sources, calendars and the digest.",
        no_args_is_help=True,
    )
    verb(group, "set")(set_)
    verb(group, "rotate")(rotate)
    verb(group, "retire")(retire)
    verb(group, "status")(status)
    app.add_typer(group, name="secret")


def set_(session: Session, name: AnyName, *, generate: Generate = False) -> None:
    """Store NAME's secret; whatever was there before ends at once.

    The value is read from standard input, or asked for; never from the
    command line, where it would stay in the shell's history. One that its
    reader would refuse for its form is not stored.

    A source has what its sender signs with, a feed its address or what proves
    us; a calendar its feed's address, or a key of Google's (the file); the
    digest Slack's incoming webhook, or a bot's token.
    """
    value = _value(session, name, generate)
    vault.store(session.target, name, Secret(current=value), "secret set")
    session.out.data(_made(name, value, generate))
    _reveal(session, value, generate)
    session.out.say(
        f"{name}: stored ({rotation.fingerprint(value)}); {_read_by(session, name)}"
    )


def _read_by(session: Session, name: str) -> str:
    if not _is_other(session, name):
        return "the receiver reads it within a minute"
    if name == forms.DIGEST:
        return "the next digest is sent with it"
    if name in session.target.fleet.feeds:
        return "the poller's next look reads by it"
    return "the planner's next look, within 15 minutes, reads by it"


def _is_other(session: Session, name: str) -> bool:
    """Tell whether the secret is no source's: it has no old one beside it."""
    fleet = session.target.fleet
    return name in forms.secret_names(fleet) and name not in fleet.sources


def rotate(
    session: Session,
    source: SourceName,
    *,
    generate: Generate = False,
    hours: Hours = rotation.WINDOW / timedelta(hours=1),
    now: Now = False,
) -> None:
    """Accept a new secret beside the old one, so that no delivery is refused.

    Where you choose the secret (GitHub, GitLab, ...): run this first, then
    paste the new value at the sender. Where the sender makes it up (Slack,
    Stripe, Linear, ...): renew it there, then run this with what it shows, at
    once; deliveries in between are refused and repeated by most senders. In
    both cases end with `bellhop secret retire`.
    """
    if _is_other(session, source):
        raise UsageError(f"{source} has one value: `bellhop secret set {source}`")
    kept, version = vault.read(session.target, source)
    instant = session.target.now()
    if rotation.is_overlapping(kept, instant) and not now:
        raise CliError(
            f"{source} is being rotated already: its old secret is accepted"
            f" {_until(kept)}; retire that one first, or drop it with --now"
        )
    value = _value(session, source, generate)
    if value == kept.current:
        raise UsageError(f"that is the secret {source} has already")
    window = timedelta(hours=hours)
    new = rotation.rotated(kept, value, now=instant, window=window)
    vault.store(session.target, source, new, "secret rotated", over=version)
    until = rfc3339(instant + window)
    session.out.data({**_made(source, value, generate), "previous_until": until})
    _reveal(session, value, generate)
    _walk(session, source, until)


def retire(session: Session, source: SourceName, *, now: Now = False) -> None:
    """Stop accepting SOURCE's old secret.

    Refuses while the old one has verified a delivery in the last hour: then
    the sender still signs with it. --now retires it nevertheless.
    """
    kept, version = vault.read(session.target, source)
    if kept.previous is None:
        raise UsageError(f"{source} has no old secret to retire")
    is_live = rotation.is_overlapping(kept, session.target.now())
    if is_live and not now:
        used = matched.count(session.target, source, "previous", rotation.QUIET)
        if used:
            raise CliError(
                f"{source}: deliveries in the last hour that the old secret has"
                f" verified: {used}; change it at the sender first, or say --now"
            )
    alone = rotation.retired(kept)
    vault.store(
        session.target,
        source,
        alone,
        "secret retired",
        over=version,
        about=kept.previous,
    )
    mark = rotation.fingerprint(kept.previous)
    session.out.data({"source": source, "retired": mark})
    session.out.say(f"{source}: {mark} is retired; refused within a minute")


def status(session: Session, name: AnyOrAll = None) -> None:
    """Say which secrets are accepted, until when, and which are in use.

    Never the value, only a fingerprint. Ends with 1 when a secret is missing
    or unreadable, an old one is in use and about to end, or that of a
    calendar or the digest has not the form that its reader wants.
    """
    fleet = session.target.fleet
    every = [*fleet.sources, *forms.secret_names(fleet)]
    chosen = [name] if name else list(dict.fromkeys(every))
    rows = [row for each in chosen for row in _rows(session, each)]
    session.out.table(rows, _COLUMNS, "fleet.toml has no sources")
    if any(row["note"] for row in rows):
        session.end(FOUND)


def _rows(session: Session, source: str) -> list[dict[str, Any]]:
    empty = dict.fromkeys(_COLUMNS) | {"source": source}
    try:
        kept = vault.fetch(session.target, source)
    except CliError as error:
        return [{**empty, "note": str(error)}]
    instant = session.target.now()
    if _is_other(session, source):
        told = {"which": "current", "fingerprint": rotation.fingerprint(kept.current)}
        note = forms.wrong(session.target.fleet, source, kept.current, instant)
        return [empty | told | {"note": note}]
    rows = []
    for which, value in kept.live(instant).items():
        used = matched.count(session.target, source, which, rotation.QUIET)
        until = kept.previous_until if which == "previous" else None
        ends_soon = until is not None and until - instant < rotation.NEAR_END
        rows.append(
            empty
            | {
                "which": which,
                "fingerprint": rotation.fingerprint(value),
                "live_until": until and rfc3339(until),
                "matched_last_hour": used,
                "note": "in use, and ends soon" if used and ends_soon else None,
            }
        )
    return rows


def _value(session: Session, source: str, generate: bool) -> str:
    value = _given(session, source, generate)
    why = forms.wrong(session.target.fleet, source, value, session.target.now())
    if why is not None:
        raise UsageError(f"{source}: not stored: {why}")
    return value


def _given(session: Session, source: str, generate: bool) -> str:
    sender = _sender(session, source)
    if generate and _is_other(session, source):
        raise UsageError(f"the secret of {source} is made by the other side: paste it")
    if generate:
        if sender in names() and Signer(sender).makes_secret:
            raise UsageError(
                f"{sender} makes up its secrets itself: paste what it shows"
            )
        return rotation.generate(sender)
    if sys.stdin.isatty():
        value: str = typer.prompt(f"secret of {source}", hide_input=True)
    else:
        value = sys.stdin.read()
    value = value.removeprefix("\ufeff").strip("\r\n")
    if not value.strip():
        raise UsageError("the secret is empty")
    if "\n" in value and not ("-----BEGIN" in value or _is_json(value)):
        raise UsageError("the secret has several lines; only a key in PEM has")
    return value


def _is_json(value: str) -> bool:
    try:
        return isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        return False


def _sender(session: Session, source: str) -> str:
    vault.secret_id(session.target, source)  # says so if there is none
    table = session.target.fleet.sources.get(source)
    return table.sender if table else source


def _made(source: str, value: str, generate: bool) -> dict[str, Any]:
    told = {"source": source, "fingerprint": rotation.fingerprint(value)}
    return {**told, "generated": value} if generate else told


def _reveal(session: Session, value: str, generate: bool) -> None:
    if generate:
        session.out.say("the new secret, shown this once:")
        session.out.say(f"  {value}", "bold")


def _until(kept: Secret) -> str:
    return (
        f"until {rfc3339(kept.previous_until)}" if kept.previous_until else "for ever"
    )


def _walk(session: Session, source: str, until: str) -> None:
    """Say what is left to do, in the order that refuses nobody."""
    sender = _sender(session, source)
    session.out.say(f"{source}: both secrets are accepted until {until}", "green")
    if sender in names() and Signer(sender).makes_secret:
        session.out.say(f"  1. {sender} signs with the new one already.")
    else:
        session.out.say(
            f"  1. Put the new secret in at {sender}, a minute from now: every"
            " receiver has read it by then."
        )
    place = _where(sender)
    if place:
        session.out.say(f"     It is where the webhook was set up: {place}")
    session.out.say(f"  2. `bellhop secret status {source}` shows which one is in use.")
    session.out.say(f"  3. `bellhop secret retire {source}` once the old one is not.")


def _where(sender: str) -> str:
    """Return where to click at the sender, from its page of the reference."""
    try:
        return senders.page(sender)[1].get("Set up", "")
    except Misconfigured:
        return ""
