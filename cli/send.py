"""`bellhop send`: a signed sample of any source, as its sender would send it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from cli import samples, signers, vault
from cli.output import FOUND, UsageError
from cli.publish import publish
from cli.session import Session, verb
from cli.signers import Delivery, Signer
from cli.target import Target
from cli.wire import HOME, Answer, Wire
from lambdas.shared import clock
from lambdas.shared.fleet import Source

# Well beyond every sender's window, and not so far that a time looks like junk.
_STALE_BY = timedelta(minutes=10)

# What the receiver allows a generic sender whose table names no tolerance.
_GENERIC_SECONDS = 300

_COLUMNS = ("verdict", "status", "event_id", "deduplicated", "error", "milliseconds")

SourceName = Annotated[str, typer.Argument(help="A source of fleet.toml.")]
EventName = Annotated[
    str | None, typer.Argument(help="A sample's name; --list shows them.")
]
ListThem = Annotated[bool, typer.Option("--list", help="List the samples and stop.")]
Stale = Annotated[
    bool, typer.Option("--stale", help="Sign a time outside the sender's window.")
]
Tamper = Annotated[
    bool, typer.Option("--tamper", help="Change the body after it was signed.")
]
Duplicate = Annotated[
    int, typer.Option(min=1, max=1000, help="Send each delivery N times.", metavar="N")
]
Burst = Annotated[
    int,
    typer.Option(
        min=1,
        max=10_000,
        metavar="N",
        help="Send N different deliveries at once, 50 in flight at most.",
    ),
]
Which = Annotated[
    Literal["current", "previous"],
    typer.Option(
        "--secret",
        help="Which of the two secrets to sign with: current or previous.",
        metavar="WHICH",
    ),
]
Url = Annotated[
    str | None,
    typer.Option(
        help="Send there instead: this machine, or a door of your own stack.",
        metavar="URL",
    ),
]
SecretFrom = Annotated[
    str | None,
    typer.Option(
        "--secret-value-from",
        help="With --url: the environment variable that holds the secret.",
        metavar="VARIABLE",
    ),
]
SenderName = Annotated[
    str | None,
    typer.Option(
        "--sender",
        help="Whose signature, where fleet.toml cannot tell.",
        metavar="NAME",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Door:
    """One source as a sender sees it."""

    url: str
    known_as: str
    secret: str
    sender: str
    source: Source | None
    now: datetime


def register(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "send")(send)


def send(
    session: Session,
    source: SourceName,
    event: EventName = None,
    *,
    list_them: ListThem = False,
    stale: Stale = False,
    tamper: Tamper = False,
    duplicate: Duplicate = 1,
    burst: Burst = 1,
    secret: Which = "current",  # noqa: S107  the name of one, not the secret
    url: Url = None,
    secret_value_from: SecretFrom = None,
    sender: SenderName = None,
) -> None:
    """Send a signed sample of SOURCE, under a fresh delivery id.

    Ends with 0 when the answers are what they should be: accepted, each
    delivery once however often it was sent; refused with 400 or 401 under
    --stale and --tamper.
    """
    if list_them:
        _list(session, sender or _sender_of(session, source))
        return
    door = _door(session, source, sender, url, secret, secret_value_from)
    copies = [_composer(door, event, stale, tamper)() for _ in range(burst)]
    deliveries = [copy for copy in copies for _ in range(duplicate)]
    answers = _sent(session, Wire(door.url), deliveries, at_once=burst > 1)
    rows = [_row(answer, hostile=stale or tamper) for answer in answers]
    if not (stale or tamper) and not _asks_for_requests(door.source):
        _mark_repeats(rows, duplicate)
    _tell(session, rows)
    if any(row["verdict"] == "unexpected" for row in rows):
        session.end(FOUND)


def _list(session: Session, sender: str) -> None:
    usual = Signer(sender).usual_event
    rows = [
        {"event": name, "sent by default": name == usual}
        for name in samples.events(sender)
    ]
    session.out.table(rows, ("event", "sent by default"), "no samples")


def _door(
    session: Session,
    name: str,
    sender: str | None,
    url: str | None,
    which: str,
    variable: str | None,
) -> _Door:
    if url is not None:
        source = _source(session, name) if sender is None else None
        _refuse_strangers(session, url, source)
        value = os.environ.get(variable, "") if variable else ""
        if variable and not value:
            raise UsageError(f"the environment variable {variable} is empty")
        return _Door(
            url=url,
            known_as=(source and source.public_url) or url,
            secret=value or typer.prompt(f"secret of {name}", hide_input=True),
            sender=sender or (source.sender if source else name),
            source=source,
            now=clock.now(),
        )
    target = session.target
    source = _source(session, name)
    target.secret_id(name)  # says so if there is no such source
    sender = sender or (source.sender if source else name)
    address = f"{target.api_url.rstrip('/')}/webhooks/{name}"
    return _Door(
        url=address,
        known_as=(source and source.public_url) or address,
        secret=_secret(session, name, sender, which),
        sender=sender,
        source=source,
        now=target.now(),
    )


def _secret(session: Session, source: str, sender: str, which: str) -> str:
    signer = _signer(sender)
    if signer.has_key_pair:
        return _key(session.target, source, signer)
    kept = vault.fetch(session.target, source)
    if which == "current":
        return kept.current
    if kept.previous is None:
        raise UsageError(f"{source} has no previous secret")
    return kept.previous


def _key(target: Target, name: str, signer: Signer) -> str:
    """Return a sender's private key, and publish what the sender would of it."""
    key = vault.private_key(target, name, signer)
    options = {**signer.options, **_options(target.fleet.sources.get(name))}
    if target.world_url is not None:
        publish(target.world_url, signer.serves(key, target.now(), options))
    return key


def _source(session: Session, name: str) -> Source | None:
    try:
        return session.target.fleet.sources.get(name)
    except UsageError:
        if name in signers.names():
            return None
        raise


def _sender_of(session: Session, name: str) -> str:
    if name in signers.names():
        return name
    source = _source(session, name)
    return source.sender if source else name


def _refuse_strangers(session: Session, url: str, source: Source | None) -> None:
    """Let samples go to this machine or to the user's own doors only."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UsageError(f"--url: {error}, got {url!r}") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--url: want http:// or https://, got {url!r}")
    own = (
        {urlsplit(source.public_url).hostname}
        if source and source.public_url
        else set()
    )
    if parts.hostname in HOME | own:
        return
    if parts.hostname == urlsplit(session.target.api_url).hostname:
        return
    raise UsageError(
        f"--url: {parts.hostname} is neither this machine, nor the stack's door,"
        " nor the source's public_url"
    )


def _composer(
    door: _Door, event: str | None, stale: bool, tamper: bool
) -> Callable[[], Delivery]:
    signer = _signer(door.sender)
    event = event or signer.usual_event
    at = door.now
    if stale:
        at -= _STALE_BY + timedelta(seconds=_window(door, signer))

    def compose() -> Delivery:
        try:
            return signers.compose(
                door.sender,
                event,
                secret=door.secret,
                at=at,
                url=door.known_as,
                delivery_id=str(uuid.uuid4()),
                options=_options(door.source),
                tampered=tamper,
            )
        except (samples.UnknownEventError, ValueError) as error:
            raise UsageError(str(error)) from error

    return compose


def _options(source: Source | None) -> dict[str, Any]:
    if source is None:
        return {}
    generic = asdict(source.generic) if source.generic else {}
    return {**source.options, **generic}


def _signer(sender: str) -> Signer:
    try:
        return Signer(sender)
    except signers.UnknownSenderError as error:
        raise UsageError(str(error)) from error


def _window(door: _Door, signer: Signer) -> int:
    seconds = signer.window_seconds
    generic = door.source.generic if door.source else None
    if generic and generic.timestamp_header:
        seconds = _GENERIC_SECONDS
    if seconds is None:
        raise UsageError(
            f"{door.sender} knows no window: nothing of it can be stale;"
            " of slack, stripe and all who sign a time it can"
        )
    chosen = door.source.tolerance_seconds if door.source else None
    return max(seconds, chosen or 0)


def _sent(
    session: Session, wire: Wire, deliveries: list[Delivery], *, at_once: bool
) -> list[Answer]:
    if not at_once:
        return [wire.post(delivery) for delivery in deliveries]
    with session.out.progress() as progress:
        task = progress.add_task("sending", total=len(deliveries))
        return wire.at_once(deliveries, lambda: progress.advance(task))


def _row(answer: Answer, *, hostile: bool) -> dict[str, Any]:
    if hostile:
        verdict = "refused" if answer.status in {400, 401} else "unexpected"
    elif not answer.is_success:
        verdict = "unexpected"
    else:
        verdict = "answered" if answer.event_id is None else "accepted"
    return {
        "verdict": verdict,
        "status": answer.status,
        "event_id": answer.event_id,
        "deduplicated": answer.is_deduplicated,
        "error": answer.error,
        "milliseconds": answer.milliseconds,
    }


def _asks_for_requests(source: Source | None) -> bool:
    return source is not None and source.identity == "request"


def _mark_repeats(rows: list[dict[str, Any]], copies: int) -> None:
    """Each delivery must be new exactly once, and have one id however often sent."""
    for start in range(0, len(rows), copies):
        group = [r for r in rows[start : start + copies] if r["event_id"] is not None]
        new = sum(row["deduplicated"] is False for row in group)
        if group and (new != 1 or len({row["event_id"] for row in group}) != 1):
            for row in group:
                row["verdict"] = "unexpected"


def _tell(session: Session, rows: list[dict[str, Any]]) -> None:
    session.out.table(rows, _COLUMNS, "nothing was sent")
    if len(rows) > 1:
        good = sum(row["verdict"] != "unexpected" for row in rows)
        new = sum(row["deduplicated"] is False for row in rows)
        session.out.say(f"{good} of {len(rows)} as expected, {new} new")
