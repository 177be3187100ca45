"""A signature covers one text: what moves bytes within it is refused."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest

from cli.signers import adyen
from lambdas.shared.fleet import Generic, Pick
from tests.unit.receiver import signed
from tests.unit.receiver.door import NOW, SECRET, Call, Door

TIME = str(int(NOW.timestamp()))


def door(words: str) -> Door:
    how = Generic(
        algorithm="sha256",
        signature_header="X-Sign",
        signed=words,
        timestamp_header="X-Time" if "{timestamp}" in words else None,
        id_from=Pick(where="header", name="X-Id"),
    )
    return Door("generic", name="hatch", generic=how)


def knock(at: Door, signed_text: str, *, id: str, time: str, body: str) -> Any:
    proof = hmac.digest(SECRET.encode(), signed_text.encode(), hashlib.sha256).hex()
    headers = {"X-Sign": proof, "X-Id": id, "X-Time": time}
    return at.knock(Call(headers=headers, body=body.encode()))


READ_TWICE = [
    # What is signed, then what was sent, then what a forger makes of it.
    ("{id}.{body}", ("a", TIME, '{"x":1.5}'), ('a.{"x":1', TIME, "5}")),
    ("{id}.{timestamp}.{body}", ("a.1", TIME, "{}"), None),
    ("{timestamp}{body}", (TIME, TIME, "{}"), None),
    ("{timestamp}{body}", ("a", TIME, "123 beans"), ("a", f"{TIME}123", " beans")),
    ("{timestamp}{body}", ("a", f"{TIME}999", "{}"), ("a", TIME, "999{}")),
    ("{body}{timestamp}", ("a", TIME, "beans 0"), ("a", f"0{TIME}", "beans ")),
    ("{id}{timestamp}{body}", ("a0", TIME, "{}"), ("a", f"0{TIME}", "{}")),
]


def text(words: str, id: str, time: str, body: str) -> str:
    filled = words.replace("{id}", id).replace("{timestamp}", time)
    return filled.replace("{body}", body)


@pytest.mark.parametrize(
    ("words", "sent", "forged"), [case for case in READ_TWICE if case[2]]
)
def test_no_byte_moves_over_a_seam(
    words: str, sent: tuple[str, str, str], forged: tuple[str, str, str]
) -> None:
    """Both are signed by the same signature: one of them alone may be accepted."""
    assert text(words, *sent) == text(words, *forged)
    at = door(words)

    heard = [
        knock(at, text(words, *sent), id=id, time=time, body=body)
        for id, time, body in (sent, forged)  # noqa: A001
    ]

    assert 401 in {each.status for each in heard}
    assert len(at.accepted) <= 1


@pytest.mark.parametrize("words", sorted({case[0] for case in READ_TWICE}))
@pytest.mark.parametrize("id", ["72d3162e-cc78-11e3", "evt_1"])
@pytest.mark.parametrize("body", ['{"a":1.5}', "[1]", "a=1&b=", ""])
def test_what_senders_send_is_accepted(words: str, id: str, body: str) -> None:
    at = door(words)

    heard = knock(at, text(words, id, TIME, body), id=id, time=TIME, body=body)

    assert heard.status == 200


def test_time_that_says_itself_where_it_ends_may_stand_beside_digits() -> None:
    at = door("{timestamp}{body}")
    time = f"{NOW:%Y-%m-%dT%H:%M:%SZ}"

    assert knock(at, f"{time}12", id="a", time=time, body="12").status == 200


def item(**changed: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "pspReference": "7914073381342284",
        "originalReference": "",
        "merchantAccountCode": "Cafe",
        "merchantReference": "order:5:EUR",
        "amount": {"value": 1130, "currency": "EUR"},
        "eventCode": "AUTHORISATION",
        "success": "true",
    }
    return {**fields, **changed}


def payments(*items: dict[str, Any]) -> bytes:
    wrapped = [{"NotificationRequestItem": each} for each in items]
    return json.dumps({"notificationItems": wrapped}).encode()


def test_payment_whose_reference_holds_colons_is_accepted() -> None:
    at = signed.door("adyen")
    delivery = adyen.sign(signed.draft("adyen", payments(item())))

    assert at.knock(signed.arriving(delivery)).status == 200


@pytest.mark.parametrize(
    "moved",
    [
        {
            "pspReference": "7914073381342284:",
            "originalReference": "Cafe",
            "merchantAccountCode": "order",
            "merchantReference": "5:EUR",
        },
        {
            "merchantReference": "order",
            "amount": {"value": "5:EUR:1130", "currency": "EUR"},
        },
    ],
)
def test_fields_of_a_payment_do_not_move_into_their_neighbours(
    moved: dict[str, Any],
) -> None:
    """Adyen joins the signed fields by colons and escapes none."""
    at = signed.door("adyen")
    delivery = adyen.sign(signed.draft("adyen", payments(item())))
    whole = json.loads(delivery.body)
    whole["notificationItems"][0]["NotificationRequestItem"] |= moved
    forged = signed.arriving(delivery)

    heard = at.knock(Call(headers=forged.headers, body=json.dumps(whole).encode()))

    assert heard.status == 401
    assert at.accepted == []
