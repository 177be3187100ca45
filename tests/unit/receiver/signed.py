"""Valid requests of every sender, signed by the signers of the command line."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cli import samples, signers
from lambdas.shared import senders
from tests.unit.receiver.door import NOW, SECRET, Call, Door

# Every sender that is registered and signs with something shared.
NAMES = [
    name
    for name in senders.names()
    if name in signers.names() and name != "generic" and senders.traits(name).secret
]
SAMPLES = [(name, event) for name in NAMES for event in samples.events(name)]


def door(sender: str, **source: Any) -> Door:
    """Open a door that the signer's requests fit through."""
    if not senders.traits(sender).has_delivery_id:
        source.setdefault("identity", "body")
    return Door(sender, public_url=url(sender), **source)


def url(sender: str) -> str:
    return f"https://hooks.example.com/webhooks/{sender}"


def about(sender: str) -> dict[str, Any]:
    """Return what else a library must know to judge such a request."""
    return {"secret": SECRET, "now": NOW, "url": url(sender)}


def call(
    sender: str,
    event: str | None = None,
    *,
    at: datetime = NOW,
    secret: str = SECRET,
    delivery_id: str = "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    tampered: bool = False,
) -> Call:
    """Return a signed request with the sample of ``event``, or the usual one."""
    delivery = signers.compose(
        sender,
        event or signers.Signer(sender).usual_event,
        secret=secret,
        at=at,
        url=url(sender),
        delivery_id=delivery_id,
        tampered=tampered,
    )
    return Call(
        headers=delivery.headers,
        body=delivery.body,
        method=delivery.method,
        query=delivery.query,
    )
