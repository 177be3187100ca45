"""Senders that sign the address they call: Twilio, HubSpot, Square, Shopify."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
from urllib.parse import quote

import pytest

from cli.signers import hubspot as hubspot_signer
from lambdas.receiver.addresses import spellings
from tests.unit.receiver import signed
from tests.unit.receiver.door import SECRET, Call, Door, Heard

FORM = "application/x-www-form-urlencoded"
ADDRESS = "https://hooks.example.com/webhooks/twilio"
REFUSED = (401, "bad_signature")


def verdict(heard: Heard) -> tuple[int, str | None]:
    return heard.status, heard.error


def twilio(text: str, *, algorithm: str = "sha1", **about: str) -> Call:
    """Return a call whose signature covers ``text``; ``about`` is the rest of it."""
    mac = hmac.digest(SECRET.encode(), text.encode(), algorithm)
    return Call(
        headers={
            "Content-Type": about.get("media_type", FORM),
            "X-Twilio-Signature": base64.b64encode(mac).decode(),
            "I-Twilio-Idempotency-Token": "one",
        },
        body=about.get("body", "").encode(),
        query=about.get("query", ""),
        method=about.get("method", "POST"),
    )


@pytest.mark.parametrize(
    ("url", "spelled"),
    [
        ("https://a.example/x", {"https://a.example/x", "https://a.example:443/x"}),
        ("http://a.example/x", {"http://a.example/x", "http://a.example:80/x"}),
        ("https://a.example:8/x", {"https://a.example:8/x", "https://a.example/x"}),
        (
            "https://u:p@a.example:8/x",
            {"https://u:p@a.example:8/x", "https://u:p@a.example/x"},
        ),
        ("https://[::1]:8/x", {"https://[::1]:8/x", "https://[::1]/x"}),
        ("https://a.example:x/", {"https://a.example:x/"}),
        ("https://a.example:99999/", {"https://a.example:99999/"}),
        ("https://[a.example/", {"https://[a.example/"}),
        (
            "https://a.example/?q='",
            {
                "https://a.example/?q='",
                "https://a.example/?q=%27",
                "https://a.example:443/?q='",
                "https://a.example:443/?q=%27",
            },
        ),
    ],
)
def test_address_is_spelled_as_twilio_may_have(url: str, spelled: set[str]) -> None:
    assert set(spellings(url)) == spelled


@pytest.mark.parametrize("url", [ADDRESS, ADDRESS.replace(".com", ".com:443")])
def test_form_is_signed_sorted_and_each_pair_once(url: str) -> None:
    door = signed.door("twilio")
    body = "MessageSid=SM1&B=2&A=1&B=2&B=1&SmsStatus=received"
    fields = "A1B1B2MessageSidSM1SmsStatusreceived"

    assert door.knock(twilio(url + fields, body=body)).status == 200
    assert verdict(door.knock(twilio(url + fields, body=body + "&C=1"))) == REFUSED
    assert verdict(door.knock(twilio(url + fields, body=body, query="a=1"))) == REFUSED


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
@pytest.mark.parametrize(
    "settings",
    [
        "key=webhooks_sharedkey_1,algorithm=HMAC_SHA256",
        "ALGORITHM=hmac_sha256",
        "",
        "x",
    ],
)
def test_algorithm_is_the_one_that_the_settings_name(
    algorithm: str, settings: str
) -> None:
    call = twilio(
        f"{ADDRESS}CallStatusringing", algorithm=algorithm, body="CallStatus=ringing"
    )
    if settings:
        call = call.having("X-Twilio-Webhooks-Signature-Settings", settings)
    is_named = "sha256" if "256" in settings else "sha1"

    heard = signed.door("twilio").knock(call)

    assert heard.status == (200 if algorithm == is_named else 401)


def test_json_is_bound_by_its_hash() -> None:
    door = signed.door("twilio")
    body = '{"CallStatus": "ringing"}'
    query = f"bodySHA256={hashlib.sha256(body.encode()).hexdigest()}"
    call = twilio(
        f"{ADDRESS}?{query}", query=query, body=body, media_type="application/json"
    )

    assert door.knock(call).status == 200
    assert door.knock(dataclasses.replace(call, body=b"{}")).status == 401


@pytest.mark.parametrize("media_type", ["application/json", FORM, "text/plain", ""])
def test_body_that_nothing_binds_is_refused(media_type: str) -> None:
    """Signed for an empty body; what is added must not ride along."""
    door = signed.door("twilio")
    call = twilio(ADDRESS, body='{"CallStatus": "ringing"}', media_type=media_type)

    assert verdict(door.knock(call)) == REFUSED
    assert door.accepted == []


def test_hash_in_the_address_binds_a_form_too() -> None:
    """A JSON call may not be sent again as a form without fields."""
    query = f"bodySHA256={hashlib.sha256(b'{}').hexdigest()}"
    call = twilio(f"{ADDRESS}?{query}", query=query, body="&&&")

    assert verdict(signed.door("twilio").knock(call)) == REFUSED


def test_get_is_signed_by_its_address_and_becomes_the_payload() -> None:
    door = signed.door("twilio")
    query = "CallStatus=ringing&CallSid=CA1"
    call = twilio(f"{ADDRESS}?{query}", query=query, method="GET", media_type="")

    assert door.knock(call).status == 200
    (event,) = door.accepted
    assert event.payload == {"CallStatus": "ringing", "CallSid": "CA1"}
    assert (event.kind, event.thread) == ("call.ringing", "CA1")


@pytest.mark.parametrize("body", [b"a=%FF", b"\xff=1", b"a=1&" * 1500])
def test_form_that_nobody_sends_is_refused(body: bytes) -> None:
    call = dataclasses.replace(twilio(ADDRESS), body=body, base64=True)

    assert verdict(signed.door("twilio").knock(call)) == REFUSED


def test_public_url_is_what_is_signed_not_the_door_behind_a_proxy() -> None:
    for sender in ("twilio", "square", "hubspot"):
        elsewhere = Door(sender)
        elsewhere.secret = signed.stored(sender)

        assert signed.door(sender).knock(signed.call(sender)).status == 200
        assert verdict(elsewhere.knock(signed.call(sender))) == REFUSED


# --- HubSpot


def hubspot(version: str, **about: str) -> Call:
    query, method, body = "a=%2Fb", about.get("method", "POST"), '[{"eventId": 1}]'
    url = f"https://hooks.example.com/webhooks/hubspot?{query}"
    text = {"v1": SECRET + body, "v2": SECRET + method + url + body}[version]
    digest = hashlib.sha256(text.encode()).hexdigest()
    headers = {
        "X-HubSpot-Signature": digest,
        "X-HubSpot-Signature-Version": about.get("named", version),
    }
    return Call(headers=headers, body=body.encode(), query=query, method=method)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_plain_hash_is_held_to_the_version_it_names(version: str) -> None:
    door = signed.door("hubspot")
    other = {"v1": "v2", "v2": "v1"}[version]

    assert door.knock(hubspot(version)).status != 401
    assert verdict(door.knock(hubspot(version, named=other))) == REFUSED
    assert verdict(door.knock(hubspot(version, named="v9"))) == REFUSED
    assert verdict(door.knock(hubspot(version, named=""))) == REFUSED


def test_plain_hash_of_an_empty_body_proves_no_query() -> None:
    digest = hashlib.sha256(SECRET.encode()).hexdigest()
    headers = {"X-HubSpot-Signature": digest, "X-HubSpot-Signature-Version": "v1"}
    query = "subscriptionType=contact.deletion&eventId=1"
    door = signed.door("hubspot")

    heard = door.knock(Call(headers=headers, method="GET", query=query))

    assert verdict(heard) == REFUSED
    assert door.accepted == []


def test_weaker_signature_does_not_stand_in_for_a_broken_stronger_one() -> None:
    call = hubspot("v1").having("X-HubSpot-Signature-v3", "AAAA")

    assert signed.door("hubspot").knock(call).status == 401


@pytest.mark.parametrize("is_decoded", [False, True])
def test_v3_address_may_be_decoded_in_part(is_decoded: bool) -> None:
    letters = "!$'()*,/:;?@"
    query = f"a={quote(letters, safe='')}%20b%3D"
    sent = f"a={letters}%20b%3D" if is_decoded else query
    draft = signed.draft(
        "hubspot",
        b'[{"eventId": 1, "subscriptionType": "x"}]',
        url=f"{signed.url('hubspot')}?{sent}",
    )
    call = dataclasses.replace(signed.arriving(hubspot_signer.sign(draft)), query=query)

    assert signed.door("hubspot").knock(call).status == 200


# --- Shopify's two


@pytest.mark.parametrize("sender", ["shopify-oauth-callback", "shopify-app-proxy"])
@pytest.mark.parametrize(
    "change",
    [
        lambda query: query.replace("corner-cafe", "evil"),
        lambda query: query + "&more=1",
        lambda query: query + "&shop=evil.example",
        lambda query: "shop=evil.example&" + query,
        lambda query: query.replace("timestamp", "Timestamp"),
        lambda query: query.rpartition("&")[0],
        lambda _: "",
        lambda query: "a=%FF&" + query,
        lambda query: "a&" * 2000 + query,
    ],
)
def test_changed_query_is_refused(sender: str, change: object) -> None:
    assert callable(change)
    door, call = signed.door(sender), signed.call(sender)

    heard = door.knock(dataclasses.replace(call, query=change(call.query)))

    assert heard.status in (400, 401)
    assert door.accepted == []


def test_query_of_a_callback_is_its_payload() -> None:
    door = signed.door("shopify-oauth-callback")

    door.knock(signed.call("shopify-oauth-callback"))

    (event,) = door.accepted
    assert event.tenant == "corner-cafe.myshopify.com"
    assert {"code", "shop", "state", "hmac"} <= event.payload.keys()
    assert "code" not in event.facts


@pytest.mark.parametrize("sender", ["shopify-oauth-callback", "shopify-app-proxy"])
@pytest.mark.parametrize("method", ["POST", "PUT", "HEAD"])
def test_signed_query_is_good_for_a_get_alone(sender: str, method: str) -> None:
    call = dataclasses.replace(signed.call(sender), method=method, body=b"{}")

    assert signed.door(sender).knock(call).status == 405


@pytest.mark.parametrize("sender", ["shopify-oauth-callback", "shopify-app-proxy"])
def test_signed_query_vouches_for_no_body_beside_it(sender: str) -> None:
    """A merchant's browser holds a query that is signed for its own shop."""
    door, call = signed.door(sender), signed.call(sender)
    body = b'{"shop": "another.myshopify.com", "code": "made-up"}'

    heard = door.knock(dataclasses.replace(call, body=body))

    assert verdict(heard) == REFUSED
    assert door.accepted == []
