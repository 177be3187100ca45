"""Every sample, signed as its sender would, meets the receiver that verifies it."""

from __future__ import annotations

import base64
import functools
from datetime import timedelta
from typing import Any

import pytest

from cli import samples, signers
from cli.signers import Delivery, Signer
from lambdas.shared import senders
from lambdas.shared.fleet import Generic, Pick
from tests.unit.receiver.door import NOW, SECRET, Call, Door

PUBLIC_URL = "https://hooks.cafe.example/webhooks/it"
GENERIC = Generic(
    algorithm="sha256",
    signature_header="X-Signature",
    prefix="sha256=",
    signed="{timestamp}.{body}",
    timestamp_header="X-Timestamp",
    id_from=Pick(where="body", name="id"),
    kind_from=Pick(where="body", name="type"),
)

BOTH = sorted(set(signers.names()) & set(senders.names()))
# Zoom does not sign it in every version of its documentation: answered unproven.
UNSIGNED = {("zoom", "endpoint.url_validation")}
SAMPLES = [(sender, event) for sender in BOTH for event in samples.events(sender)]


def secret_of(sender: str) -> str:
    """Return what the sender signs with, in the form that it reads."""
    if Signer(sender).has_key_pair:
        return key_of(sender)
    is_standard = sender in {"standard-webhooks", "svix"}
    return f"whsec_{base64.b64encode(b'k' * 32).decode()}" if is_standard else SECRET


@functools.cache
def key_of(sender: str) -> str:
    """Return a private key, the same for the whole run."""
    return Signer(sender).new_key()


def door_of(sender: str) -> Door:
    """Open a door for a sender, with what its table must say."""
    more: dict[str, Any] = {"public_url": PUBLIC_URL}
    if sender == "generic":
        more["generic"] = GENERIC
    elif not senders.traits(sender).has_delivery_id:
        more["identity"] = "body"
    signer, secret = Signer(sender), secret_of(sender)
    if signer.options:
        more["options"] = signer.options
    door = Door(sender, **more)
    has_public = signer.has_key_pair and signer.has_secret
    door.secret = signer.public(secret) if has_public else secret
    door.https.pages |= signer.serves(secret, NOW, signer.options)
    return door


def signed(sender: str, event: str, **options: Any) -> Call:
    """Return a sample as it arrives at the receiver."""
    chosen: dict[str, Any] = {"secret": secret_of(sender), "at": NOW, **options}
    chosen.setdefault("options", Signer(sender).options)
    if sender == "generic":
        chosen["options"] = {
            "algorithm": GENERIC.algorithm,
            "signature_header": GENERIC.signature_header,
            "prefix": GENERIC.prefix,
            "signed": GENERIC.signed,
            "timestamp_header": GENERIC.timestamp_header,
        }
    delivery = signers.compose(sender, event, url=PUBLIC_URL, **chosen)
    return arriving(delivery)


def arriving(delivery: Delivery) -> Call:
    """Return a delivery as API Gateway hands it over."""
    return Call(
        headers=delivery.headers,
        body=delivery.body,
        method=delivery.method,
        query=delivery.query,
    )


@pytest.mark.parametrize(("sender", "event"), SAMPLES)
def test_sample_is_accepted_once(sender: str, event: str) -> None:
    door = door_of(sender)
    delivery = signed(sender, event)

    first, again = door.knock(delivery), door.knock(delivery)

    assert 200 <= first.status < 300, first.body
    assert again.status == first.status
    if '"event_id"' in first.body:
        assert first.json["deduplicated"] is False
        assert again.json == {**first.json, "deduplicated": True}


@pytest.mark.parametrize(("sender", "event"), SAMPLES)
def test_each_delivery_of_a_sample_is_another_event(sender: str, event: str) -> None:
    door = door_of(sender)

    door.knock(signed(sender, event))
    accepted = len(door.accepted)
    door.knock(signed(sender, event))

    assert len(door.accepted) == 2 * accepted


@pytest.mark.parametrize(
    ("sender", "event"), [each for each in SAMPLES if each not in UNSIGNED]
)
def test_tampered_sample_is_refused(sender: str, event: str) -> None:
    door = door_of(sender)

    heard = door.knock(signed(sender, event, tampered=True))

    assert heard.status in {400, 401}, heard.body
    assert not door.accepted


@pytest.mark.parametrize(
    ("sender", "event"),
    [
        (sender, event)
        for sender, event in SAMPLES
        if Signer(sender).window_seconds is not None and (sender, event) not in UNSIGNED
    ],
)
def test_stale_sample_is_refused(sender: str, event: str) -> None:
    door = door_of(sender)
    window = Signer(sender).window_seconds or 0
    at = NOW - timedelta(seconds=window + 600)

    heard = door.knock(signed(sender, event, at=at))

    assert heard.status == 401, heard.body
    assert not door.accepted


@pytest.mark.parametrize("sender", BOTH)
def test_every_sender_has_a_sample_of_an_event(sender: str) -> None:
    door = door_of(sender)

    door.knock(signed(sender, Signer(sender).usual_event))

    assert door.accepted, f"{Signer(sender).usual_event} is only a handshake"
