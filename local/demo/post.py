"""Sends what real senders would send: signed samples, on time or not."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from cli import samples
from cli.signers import Delivery, Draft, Signer, compose
from cli.wire import Answer, Wire
from lambdas.shared import clock
from local.stack import LocalStack

# source of the demo's fleet -> its sender
SENDERS = {"roastery": "standard-webhooks"}


def sender_of(source: str) -> str:
    """Return the kind of service behind a source of the demo's fleet."""
    return SENDERS.get(source, source)


def signed(
    stack: LocalStack,
    source: str,
    event: str,
    *,
    tampered: bool = False,
    late: timedelta = timedelta(0),
) -> Delivery:
    """Return a signed delivery under a fresh id, ``late`` behind the clock."""
    return compose(
        sender_of(source),
        event,
        secret=stack.secret(source),
        at=clock.now() - late,
        url=stack.webhook_url(source),
        tampered=tampered,
    )


def charge(stack: LocalStack, currency: str) -> Delivery:
    """Return Stripe's word of a failed charge in a currency."""
    at: datetime = clock.now()
    delivery_id = str(uuid.uuid4())
    sample = samples.load("stripe", "charge.failed", delivery_id=delivery_id, at=at)
    body = sample.body.replace(
        b'"currency": "eur"', f'"currency": "{currency}"'.encode()
    )
    draft = Draft(
        event="charge.failed",
        body=body,
        media_type=sample.media_type,
        secret=stack.secret("stripe"),
        at=at,
        id=delivery_id,
    )
    return Signer("stripe").sign(draft)


def send(stack: LocalStack, source: str, delivery: Delivery) -> Answer:
    """Send one delivery to its door."""
    return Wire(stack.webhook_url(source)).post(delivery)


def send_at_once(
    stack: LocalStack, source: str, delivery: Delivery, times: int
) -> list[Answer]:
    """Send the same delivery several times at the same moment."""
    wire = Wire(stack.webhook_url(source))
    return wire.at_once([delivery] * times, lambda: None)
