"""Requests that prove themselves more than once: every part must hold."""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import json
from datetime import timedelta
from typing import Any

import pytest

from cli import samples
from cli.signers import Draft, adyen, zoom
from tests.unit.receiver.door import NOW, SECRET, Call, Door, Heard

OTHER = "ab" * 32


def payments(count: int, *, secret: str = SECRET) -> list[dict[str, Any]]:
    """Return items as Adyen signs them."""
    items = []
    for number in range(count):
        sample = samples.load(
            "adyen", "AUTHORISATION", delivery_id=f"payment-{number}", at=NOW
        )
        draft = Draft(
            event="AUTHORISATION", body=sample.body, secret=secret, at=NOW, id="1"
        )
        items += json.loads(adyen.sign(draft).body)["notificationItems"]
    return items


def knock(door: Door, items: list[dict[str, Any]]) -> Heard:
    body = json.dumps({"live": "false", "notificationItems": items}).encode()
    return door.knock(Call(headers={"Content-Type": "application/json"}, body=body))


def notified(*states: object) -> Call:
    value = [
        {"id": f"n{n}", "changeType": "updated", "clientState": s}
        for n, s in enumerate(states)
    ]
    return Call(headers={}, body=json.dumps({"value": value}).encode())


def test_several_payments_are_an_event_each() -> None:
    door = Door("adyen")

    heard = knock(door, payments(3))

    assert (heard.status, heard.body) == (200, "[accepted]")
    assert len({event.id for event in door.accepted}) == 3


@pytest.mark.parametrize("which", [0, 2], ids=["first", "last"])
def test_forged_payment_among_true_ones_is_refused_with_them(which: int) -> None:
    door, items = Door("adyen"), payments(3)
    items[which]["NotificationRequestItem"]["amount"]["value"] = 1

    heard = knock(door, items)

    assert (heard.status, heard.error) == (401, "bad_signature")
    assert door.accepted == []


@pytest.mark.parametrize("signature", [None, "", 7, "é", ["x"], {}])
def test_payment_without_a_signature_is_refused(signature: object) -> None:
    items = payments(1)
    items[0]["NotificationRequestItem"]["additionalData"]["hmacSignature"] = signature

    assert knock(Door("adyen"), items).error == "bad_signature"


@pytest.mark.parametrize("items", [[], [None], ["x"], [{}], {}, None, 7])
def test_no_payment_at_all_is_refused(items: Any) -> None:
    assert knock(Door("adyen"), items).error == "bad_signature"


def test_payments_signed_under_either_live_secret_may_share_a_request() -> None:
    door = Door("adyen")
    door.secret = json.dumps({"current": SECRET, "previous": OTHER})
    mixed = payments(2)[:1] + payments(2, secret=OTHER)[1:]

    assert knock(door, mixed).status == 200
    assert len(door.accepted) == 2


def test_unsigned_words_of_a_payment_do_not_make_another_event() -> None:
    door, items = Door("adyen"), payments(1)
    other = copy.deepcopy(items)
    other[0]["NotificationRequestItem"]["reason"] = "another"

    knock(door, items)
    knock(door, other)

    assert len(door.accepted) == 1
    assert "reason" not in door.accepted[0].facts


def test_platform_body_is_signed_whole_and_wants_an_identity() -> None:
    body = b'\n  {"type": "merchant.created", "environment": "test"} \n'
    mac = hmac.digest(bytes.fromhex(SECRET), body, hashlib.sha256)
    headers = {"HmacSignature": base64.b64encode(mac).decode()}
    door = Door("adyen", identity="body")

    assert door.knock(Call(headers=headers, body=body)).body == "[accepted]"
    assert [event.kind for event in door.accepted] == ["merchant.created"]
    assert door.knock(Call(headers=headers, body=body.strip())).status == 401
    assert Door("adyen").knock(Call(headers=headers, body=body)).status == 400


def test_every_notification_must_hold_a_live_state() -> None:
    door = Door("microsoft-graph")
    door.secret = json.dumps({"current": SECRET, "previous": OTHER})

    assert door.knock(notified(SECRET, OTHER, SECRET)).status == 202
    assert len(door.accepted) == 3
    for stranger in ("", None, 7, "é", [SECRET], SECRET[:-1]):
        assert door.knock(notified(SECRET, stranger)).status == 401
    assert door.knock(notified()).status == 401
    assert len(door.accepted) == 3


def test_zoom_validation_that_is_signed_must_be_signed_rightly() -> None:
    asked = {"event": "endpoint.url_validation", "payload": {"plainToken": "a" * 22}}
    draft = Draft(
        event="x", body=json.dumps(asked).encode(), secret=OTHER, at=NOW, id="1"
    )
    delivery = zoom.sign(draft)
    call = Call(headers=delivery.headers, body=delivery.body)
    door = Door("zoom")
    wanted = hmac.digest(OTHER.encode(), b"a" * 22, hashlib.sha256).hex()

    refused = door.knock(call)
    door.clock.advance(61)
    door.secret = json.dumps({"current": SECRET, "previous": OTHER})
    answered = door.knock(call)

    assert refused.status == 401
    assert answered.json == {"plainToken": "a" * 22, "encryptedToken": wanted}
    assert door.accepted == []


@pytest.mark.parametrize("sender", ["github", "slack", "microsoft-graph"])
def test_address_outside_the_list_is_refused_before_anything_else(sender: str) -> None:
    door = Door(sender, allow_cidrs=("192.0.2.0/24", "2001:db8::/32"))
    greeting = Call(
        headers={}, method="POST", query="validationToken=x", source_ip="198.51.100.1"
    )

    heard = door.knock(greeting)

    assert (heard.status, heard.error) == (403, "not_allowed_ip")
    assert door.store.fetched == []


def test_mailgun_token_works_once_whatever_event_is_put_beside_it() -> None:
    signature = {"timestamp": str(int(NOW.timestamp())), "token": "t" * 50}
    text = signature["timestamp"] + signature["token"]
    signature["signature"] = hmac.digest(
        SECRET.encode(), text.encode(), hashlib.sha256
    ).hex()
    door = Door("mailgun")

    for event in ("failed", "delivered"):
        body = {"signature": signature, "event-data": {"event": event}}
        door.knock(Call(headers={}, body=json.dumps(body).encode()))
    door.clock.at += timedelta(hours=8)
    body = {"signature": signature, "event-data": {"event": "failed"}}
    repeated = door.knock(Call(headers={}, body=json.dumps(body).encode()))

    assert [event.kind for event in door.accepted] == ["failed"]
    assert repeated.json["deduplicated"] is True


def changes(*texts: str) -> dict[str, Any]:
    """Return an entry as Meta puts changes together."""
    values = [{"messages": [{"from": "17", "id": text}]} for text in texts]
    return {"id": "1", "changes": [{"field": "messages", "value": v} for v in values]}


def test_changes_are_recognised_however_meta_puts_them_together() -> None:
    door = Door("meta", identity="body")

    for entries in ([changes("a", "b")], [changes("a"), changes("b", "c")]):
        body = json.dumps({"object": "page", "entry": entries}).encode()
        signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        headers = {"X-Hub-Signature-256": f"sha256={signature}"}
        assert door.knock(Call(headers=headers, body=body)).status == 200

    assert len(door.accepted) == 3
    assert {(e.kind, e.tenant, e.actor) for e in door.accepted} == {
        ("page.messages", "1", "17")
    }
