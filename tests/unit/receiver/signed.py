"""Valid requests of every sender, signed by the signers of the command line."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cli import samples, signers
from cli.signers import Signer
from lambdas.shared import senders
from tests.unit.receiver.door import NOW, SECRET, Call, Door

# Every sender that is registered; the generic one has tests of its own.
NAMES = [n for n in senders.names() if n in signers.names() and n != "generic"]
# Those whose source holds something; of the others keys are fetched.
WITH_SECRET = [n for n in NAMES if senders.traits(n).secret]
SAMPLES = [(name, event) for name in NAMES for event in samples.events(name)]


def secret(sender: str, which: str = "current") -> str:
    """Return what the sender signs with; ``which`` is a word for each one."""
    if Signer(sender).has_key_pair:
        return _key(sender, which)
    return SECRET if which == "current" else "ab" * 32


@functools.cache
def _key(sender: str, which: str) -> str:
    """Return a private key, the same for the whole run."""
    return Signer(sender).new_key()


def stored(sender: str, which: str = "current") -> str:
    """Return what the source holds for it."""
    signer = Signer(sender)
    value = secret(sender, which)
    return signer.public(value) if signer.has_key_pair and signer.has_secret else value


def door(sender: str, **source: Any) -> Door:
    """Open a door that the signer's requests fit through."""
    if not senders.traits(sender).has_delivery_id:
        source.setdefault("identity", "body")
    signer = Signer(sender)
    source = {"public_url": url(sender), "options": signer.options, **source}
    opened = Door(sender, **source)
    opened.secret = stored(sender)
    opened.https.pages |= pages(sender)
    return opened


@functools.cache
def pages(sender: str) -> Mapping[str, bytes]:
    """Return what the sender publishes."""
    signer = Signer(sender)
    return signer.serves(secret(sender), NOW, signer.options)


def rotating(sender: str) -> str:
    """Return the text of a secret of which two values are live."""
    both = {which: stored(sender, which) for which in ("current", "previous")}
    return json.dumps(both)


def url(sender: str) -> str:
    return f"https://hooks.example.com/webhooks/{sender}"


def about(sender: str) -> dict[str, Any]:
    """Return what else a library must know to judge such a request."""
    signer = Signer(sender)
    published = {url: page.decode() for url, page in pages(sender).items()}
    more = {**signer.options, "pages": published}
    return {"secret": stored(sender), "now": NOW, "url": url(sender), "more": more}


def draft(sender: str, body: bytes, **about: Any) -> signers.Draft:
    """Return a request with this body, before it is signed."""
    known = {
        "event": "a.b",
        "secret": secret(sender),
        "at": NOW,
        "id": "72d3",
        "url": url(sender),
        "options": Signer(sender).options,
    }
    return signers.Draft(body=body, **{**known, **about})


def call(
    sender: str,
    event: str | None = None,
    *,
    at: datetime = NOW,
    which: str = "current",
    delivery_id: str = "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    tampered: bool = False,
) -> Call:
    """Return a signed request with the sample of ``event``, or the usual one."""
    signer = Signer(sender)
    delivery = signers.compose(
        sender,
        event or signer.usual_event,
        secret=secret(sender, which),
        at=at,
        url=url(sender),
        delivery_id=delivery_id,
        options=signer.options,
        tampered=tampered,
    )
    return arriving(delivery)


def arriving(delivery: signers.Delivery) -> Call:
    """Return a delivery as API Gateway hands it over."""
    return Call(
        headers=delivery.headers,
        body=delivery.body,
        method=delivery.method,
        query=delivery.query,
    )
