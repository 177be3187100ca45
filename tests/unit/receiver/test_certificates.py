"""Certificates at addresses that a request names: SNS's and PayPal's."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from cli.signers import aws_sns, keys
from tests.unit.receiver import signed
from tests.unit.receiver.door import NOW, Call, Door, Heard

SNS_HOST = "sns.eu-central-1.amazonaws.com"
NAME = "SimpleNotificationService-" + "0" * 32
REFUSED = (401, "bad_signature")


def verdict(heard: Heard) -> tuple[int, str | None]:
    return heard.status, heard.error


# --- AWS SNS


def notification(door: Door, **fields: Any) -> Call:
    """Return a message with other fields, signed again as its topic would."""
    sample = json.loads(signed.call("aws-sns", "Notification").body)
    changed = {n: v for n, v in {**sample, **fields}.items() if v is not None}
    own_url = fields.get("SigningCertURL")
    delivery = aws_sns.sign(signed.draft("aws-sns", json.dumps(changed).encode()))
    body = json.loads(delivery.body)
    if own_url is not None:
        # Not signed: whoever sends it may write there what they like.
        body["SigningCertURL"] = own_url
    return Call(headers=delivery.headers, body=json.dumps(body).encode())


STRANGE_CERTIFICATES = [
    f"http://{SNS_HOST}/{NAME}.pem",
    f"https://{SNS_HOST}.evil.example/{NAME}.pem",
    f"https://evil.example/{NAME}.pem",
    f"https://evil.example/{SNS_HOST}/{NAME}.pem",
    f"https://{SNS_HOST}@evil.example/{NAME}.pem",
    f"https://anna@{SNS_HOST}/{NAME}.pem",
    f"https://{SNS_HOST}:8443/{NAME}.pem",
    f"https://{SNS_HOST}:443/{NAME}.pem",
    f"https://{SNS_HOST}/evil/{NAME}.pem",
    f"https://{SNS_HOST}/../{NAME}.pem",
    f"https://{SNS_HOST}/{NAME}.pem?x=1",
    f"https://{SNS_HOST}/{NAME}.pem#x",
    f"https://{SNS_HOST}/{NAME}.der",
    "https://sns.amazonaws.com.evil.example/x.pem",
    f"https://sns-eu-central-1.amazonaws.com/{NAME}.pem",
    f"https://evil-bucket.s3.amazonaws.com/{NAME}.pem",
    f"https://xsns.eu-central-1.amazonaws.com/{NAME}.pem",
    f"https://snsXeu-central-1.amazonaws.com/{NAME}.pem",
    f"https://SNS.eu-central-1.amazonaws.com/{NAME}.pem",
    f"https://sns.us-east-1.amazonaws.com/{NAME}.pem",
    f"https://{SNS_HOST}\\@evil.example/{NAME}.pem",
    "",
    "\ud800",
]


@pytest.mark.parametrize("url", STRANGE_CERTIFICATES)
def test_certificate_from_elsewhere_is_refused_and_not_fetched(url: str) -> None:
    door = signed.door("aws-sns")
    key = signed.secret("aws-sns")
    door.https.pages[url] = keys.certificate(key, "sns.amazonaws.com", NOW)

    heard = door.knock(notification(door, SigningCertURL=url))

    assert verdict(heard) == REFUSED
    assert (door.https.called, door.accepted) == ([], [])


def test_message_of_another_topic_is_refused_before_anything_is_fetched() -> None:
    door = signed.door("aws-sns", options={"topics": ["arn:aws:sns:eu-central-1:1:x"]})

    heard = door.knock(signed.call("aws-sns", "Notification"))

    assert verdict(heard) == REFUSED
    assert door.https.called == []


CHANGES: list[tuple[str, Any]] = [
    ("Message", "another"),
    ("Message", None),
    ("Message", 7),
    ("MessageId", "another"),
    ("Timestamp", "2026-11-29T12:00:01.000Z"),
    ("TopicArn", "arn:aws:sns:eu-central-1:123456789012:other"),
    ("TopicArn", ["arn:aws:sns:eu-central-1:123456789012:orders"]),
    ("Type", "UnsubscribeConfirmation"),
    ("Type", "Something"),
    ("SignatureVersion", "3"),
    ("SignatureVersion", 1),
    ("Signature", ""),
    ("Signature", "é"),
    ("Signature", "A" * 344),
    ("Signature", "A" * 100_000),
]
OWN_CHANGES: dict[str, list[tuple[str, Any]]] = {
    "Notification": [("Subject", "another"), ("Subject", {})],
    "SubscriptionConfirmation": [
        ("Token", "another"),
        ("SubscribeURL", "https://evil.example/"),
    ],
}


@pytest.mark.parametrize(
    ("event", "name", "value"),
    [
        (event, name, value)
        for event, own in OWN_CHANGES.items()
        for name, value in [*CHANGES, *own]
    ],
)
def test_field_changed_after_signing_is_refused(
    event: str, name: str, value: Any
) -> None:
    door, call = signed.door("aws-sns"), signed.call("aws-sns", event)

    changed = {**json.loads(call.body), name: value}
    heard = door.knock(dataclasses.replace(call, body=json.dumps(changed).encode()))

    assert verdict(heard) == REFUSED
    assert door.accepted == []
    assert not [url for url in door.https.called if "ConfirmSubscription" in url]


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("subject", [None, "", "x y"])
def test_both_versions_verify_with_and_without_subject(
    version: str, subject: str | None
) -> None:
    door = signed.door("aws-sns")

    heard = door.knock(notification(door, SignatureVersion=version, Subject=subject))

    assert heard.status == 200


def test_end_of_a_message_is_not_read_as_another_id() -> None:
    """Lines separate what is signed: a stranger's words may look like fields."""
    door = signed.door("aws-sns")
    call = notification(door, Message="hello\nMessageId\nfake\nSubject\nx")
    body = json.loads(call.body)
    inside = f"x\nMessageId\n{body['MessageId']}\nSubject\n{body['Subject']}"
    again = {**body, "Message": "hello", "MessageId": "fake", "Subject": inside}

    heard = door.knock(dataclasses.replace(call, body=json.dumps(again).encode()))

    assert door.knock(call).status == 200
    assert verdict(heard) == REFUSED


def test_topic_that_is_no_arn_speaks_for_nobody() -> None:
    door = Door("aws-sns", options={"topics": ["orders"]})

    assert verdict(door.knock(notification(door, TopicArn="orders"))) == REFUSED


def test_version_1_signature_is_none_of_version_2() -> None:
    door = signed.door("aws-sns")
    said = json.loads(notification(door, SignatureVersion="1").body)

    said["SignatureVersion"] = "2"

    assert (
        verdict(door.knock(Call(headers={}, body=json.dumps(said).encode()))) == REFUSED
    )


def test_subscription_is_confirmed_by_one_call_and_not_stored() -> None:
    door = signed.door("aws-sns")
    call = signed.call("aws-sns", "SubscriptionConfirmation")

    for _ in range(3):
        assert door.knock(call).status == 200

    confirmed = [url for url in door.https.called if "ConfirmSubscription" in url]
    assert len(confirmed) == 1
    assert door.accepted == []


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/?Action=ConfirmSubscription&TopicArn={topic}&Token=1",
        f"https://{SNS_HOST}/?Action=DeleteTopic&TopicArn={{topic}}",
        f"https://{SNS_HOST}/?Action=ConfirmSubscription&TopicArn=other&Token=1",
        f"https://{SNS_HOST}/?Action=ConfirmSubscription&Token=1",
        f"https://{SNS_HOST}:8443/?Action=ConfirmSubscription&TopicArn={{topic}}",
        "http://169.254.169.254/latest/meta-data",
    ],
)
def test_subscription_is_confirmed_nowhere_else(url: str) -> None:
    """Rightly signed, as nobody but SNS could: it is called even so nowhere else."""
    door = signed.door("aws-sns")
    sample = json.loads(signed.call("aws-sns", "SubscriptionConfirmation").body)
    (topic,) = aws_sns.OPTIONS["topics"]
    sample["SubscribeURL"] = url.format(topic=topic)
    key = signed.secret("aws-sns")
    sample["Signature"] = keys.rsa_signature(
        key, aws_sns.text(sample).encode(), sha1=True
    )
    called_before = list(door.https.called)

    heard = door.knock(Call(headers={}, body=json.dumps(sample).encode()))

    assert verdict(heard) == (400, "malformed")
    called = [u for u in door.https.called[len(called_before) :] if "Simple" not in u]
    assert called == []


def test_subscription_that_sns_does_not_confirm_is_asked_for_again() -> None:
    door = signed.door("aws-sns")
    (url,) = (u for u in door.https.pages if "ConfirmSubscription" in u)
    door.https.pages[url] = 500

    first = door.knock(signed.call("aws-sns", "SubscriptionConfirmation"))
    door.https.pages[url] = b"<yes/>"
    again = door.knock(signed.call("aws-sns", "SubscriptionConfirmation"))

    assert (first.status, again.status) == (503, 200)


# --- Certificates, of whichever sender

CERTIFIED = {"aws-sns": "sns.amazonaws.com"}
CERTIFIED["paypal"] = "messageverificationcerts.paypal.com"


def weak(_: str) -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505
    return keys.certificate(keys.pem(key), "sns.amazonaws.com", NOW)


def of_a_curve(_: str) -> bytes:
    key = keys.pem(ec.generate_private_key(ec.SECP256R1()))
    return keys.certificate(key, "sns.amazonaws.com", NOW)


def expired(sender: str) -> bytes:
    then = NOW - timedelta(days=31)
    return keys.certificate(signed.secret(sender), CERTIFIED[sender], then)


def not_yet(sender: str) -> bytes:
    then = NOW + timedelta(days=31)
    return keys.certificate(signed.secret(sender), CERTIFIED[sender], then)


def anothers(sender: str) -> bytes:
    return keys.certificate(signed.secret(sender), "paypal.com.evil.example", NOW)


def of_another_key(sender: str) -> bytes:
    return keys.certificate(keys.new_rsa(), CERTIFIED[sender], NOW)


@pytest.mark.parametrize("sender", sorted(CERTIFIED))
@pytest.mark.parametrize(
    "make", [weak, of_a_curve, expired, not_yet, anothers, of_another_key]
)
def test_wrong_certificate_is_refused(
    sender: str, make: Callable[[str], bytes]
) -> None:
    door = signed.door(sender)
    (url,) = (u for u in door.https.pages if "Confirm" not in u)
    door.https.pages[url] = make(sender)

    heard = door.knock(signed.call(sender))

    assert verdict(heard) == REFUSED
    assert door.accepted == []


@pytest.mark.parametrize("sender", sorted(CERTIFIED))
@pytest.mark.parametrize("page", [b"", b"<html>", b"\xff", 500, 429])
def test_other_side_that_is_down_is_not_the_senders_fault(
    sender: str, page: bytes | int
) -> None:
    door = signed.door(sender)
    (url,) = (u for u in door.https.pages if "Confirm" not in u)
    good = door.https.pages[url]
    door.https.pages[url] = page

    down = door.knock(signed.call(sender))
    door.https.pages[url] = good
    door.clock.advance(3600)
    up = door.knock(signed.call(sender))

    assert (down.status, up.status) == (503, 200)


@pytest.mark.parametrize("sender", sorted(CERTIFIED))
def test_certificate_that_nobody_has_is_refused(sender: str) -> None:
    door = signed.door(sender)
    door.https.pages.clear()

    assert verdict(door.knock(signed.call(sender))) == REFUSED


@pytest.mark.parametrize("sender", [*CERTIFIED, "google-pubsub"])
def test_hundred_requests_fetch_once(sender: str) -> None:
    door = signed.door(sender)

    for number in range(100):
        assert door.knock(signed.call(sender, delivery_id=f"n-{number}")).status == 200

    assert len(door.https.called) == 1


# --- PayPal


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("paypal-auth-algo", "SHA1withRSA"),
        ("paypal-auth-algo", "none"),
        ("paypal-transmission-id", "another"),
        ("paypal-transmission-id", "a|b"),
        ("paypal-transmission-time", "2026-11-29T12:00:01Z"),
        ("paypal-cert-url", "https://api.paypal.com.evil.example/v1/x"),
        (
            "paypal-cert-url",
            "https://www.paypal.com/v1/notifications/certs/CERT-00000000-00000000",
        ),
        ("paypal-cert-url", "https://api.paypal.com/v1/notifications/certs/x"),
    ],
)
def test_changed_transmission_is_refused(header: str, value: str) -> None:
    door = signed.door("paypal")

    heard = door.knock(signed.call("paypal").having(header, value))

    assert verdict(heard) == REFUSED


def test_other_webhook_is_refused() -> None:
    door = signed.door("paypal", options={"webhook_id": "another"})

    assert verdict(door.knock(signed.call("paypal"))) == REFUSED
