"""Whether a secret has the form that its reader wants, before it is stored.

What is asked is the reader itself: whatever it refuses, it would refuse at work.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from cli.signers import Signer, compose, names
from lambdas.shared.errors import Misconfigured, Rejected
from lambdas.shared.fleet import Calendar, Feed, Fleet, Source

CALENDARS, DIGEST = "calendars.", "digest"

_WRONG_FORM = "the secret has not the sender's form"


def secret_names(fleet: Fleet) -> dict[str, str]:
    """Return how the secrets beside those of sources are called here, and at AWS."""
    found = {f"{CALENDARS}{n}": c.secret_name for n, c in fleet.calendars.items()}
    found |= {n: f.secret_name for n, f in fleet.feeds.items() if f.secret}
    if fleet.digest is not None:
        found[DIGEST] = fleet.digest.secret_name
    return found


def wrong(fleet: Fleet, name: str, value: str, now: datetime) -> str | None:
    """Return why the reader of ``name`` would refuse ``value``; None if it takes it.

    Whether it is the right one, only the other side knows.
    """
    try:
        if name in fleet.sources:
            return _of_source(fleet.sources[name], value, now)
        if name in fleet.feeds:
            _of_feed(fleet.feeds[name], value)
        elif name.startswith(CALENDARS):
            _of_calendar(fleet.calendars[name.removeprefix(CALENDARS)], value)
        elif name == DIGEST:
            return _of_digest(fleet, value)
    except Misconfigured as error:
        return str(error)
    return None


def _of_calendar(calendar: Calendar, value: str) -> None:
    if calendar.feed == "google":
        from lambdas.shared.google import read_key

        read_key(calendar.secret_name, value)
    else:
        from lambdas.planner import feed

        feed.checked(value)


def _of_feed(feed: Feed, value: str) -> None:
    if feed.authorization is not None:
        from lambdas.poller import poller

        poller.proof(feed.authorization, value)
    else:
        from lambdas.poller import site

        site.checked(value)


def _of_digest(fleet: Fleet, value: str) -> str | None:
    value = value.strip()
    if value.startswith("https://"):
        return None
    if not value.startswith("xox"):
        return (
            "want an incoming webhook's address (https://...) or a bot's token (xox...)"
        )
    if fleet.digest is None or not fleet.digest.channel:
        return "a bot's token wants [digest] channel in fleet.toml"
    return None


def _of_source(source: Source, value: str, now: datetime) -> str | None:
    """Show the sender's own verifier a sample that is signed with ``value``."""
    if source.sender not in names() or not Signer(source.sender).has_secret:
        return None
    from lambdas.receiver import senders
    from lambdas.receiver.request import Request

    signer = Signer(source.sender)
    url = source.public_url or f"https://door.example/webhooks/{source.name}"
    try:
        made = compose(
            source.sender,
            signer.usual_event,
            # Of a key pair the source has the public part: any signature will do.
            secret=signer.new_key() if signer.has_key_pair else value,
            at=now,
            url=url,
            options={**source.options, **asdict(source.generic)}
            if source.generic
            else source.options,
        )
    except ValueError:
        return _WRONG_FORM
    request = Request(
        source=source,
        method=made.method,
        headers={name.lower(): text for name, text in made.headers.items()},
        body=made.body,
        received_at=now,
        path=f"/webhooks/{source.name}",
        query=made.query,
        host="door.example",
    )
    try:
        senders.load(source).verify(request, [value], now)
    except Rejected:
        return None
    except Misconfigured as error:
        return str(error) if str(error).startswith(_WRONG_FORM) else None
    return None
