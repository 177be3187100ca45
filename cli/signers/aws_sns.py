"""AWS SNS: RSA over named fields of the body, by a certificate that lies at AWS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cli.signers import keys
from cli.signers.draft import Delivery, Draft

USUAL_EVENT = "Notification"
SIGNS_TIME_SECONDS = 86_400
HAS_SECRET = False
OPTIONS = {"topics": ["arn:aws:sns:eu-central-1:123456789012:orders"]}

_HOST = "https://sns.eu-central-1.amazonaws.com"


def _certificate_url(secret: str) -> str:
    name = keys.name_of(secret, 32)
    return f"{_HOST}/SimpleNotificationService-{name}.pem"


def _subscribe_url(topic: str, secret: str) -> str:
    token = keys.name_of(secret, 64)
    return f"{_HOST}/?Action=ConfirmSubscription&TopicArn={topic}&Token={token}"


def new_key() -> str:
    """Make a private key."""
    return keys.new_rsa()


def serves(key: str, at: datetime, options: Mapping[str, Any]) -> dict[str, bytes]:
    """Return what AWS has at which address: the certificate, and its own yes."""
    certificate = keys.certificate(key, "sns.amazonaws.com", at)
    yes = {
        _subscribe_url(topic, key): b"<ConfirmSubscriptionResponse/>"
        for topic in options["topics"]
    }
    return {_certificate_url(key): certificate, **yes}


def sign(draft: Draft) -> Delivery:
    """Sign as a topic does.

    What a sample leaves empty is filled in: the source's first topic speaks.
    """
    payload = draft.payload
    kind, topic = payload["Type"], draft.options["topics"][0]
    usual = {
        "TopicArn": topic,
        "SigningCertURL": _certificate_url(draft.secret),
        "SubscribeURL": _subscribe_url(topic, draft.secret),
    }
    payload |= {n: value for n, value in usual.items() if payload.get(n) == ""}
    signed = text(payload).encode()
    is_old = payload["SignatureVersion"] == "1"
    signature = keys.rsa_signature(draft.secret, signed, sha1=is_old)
    payload["Signature"] = signature
    headers = {
        "Content-Type": "text/plain; charset=UTF-8",
        "User-Agent": "Amazon Simple Notification Service Agent",
        "x-amz-sns-message-type": kind,
    }
    return draft.send(headers, body=json.dumps(payload, indent=2).encode())


def text(payload: Mapping[str, Any]) -> str:
    """Return what a topic signs of a message: sorted names, each with its value."""
    unsigned = {"Signature", "SignatureVersion", "SigningCertURL", "UnsubscribeURL"}
    names = sorted(set(payload) - unsigned - {"MessageAttributes"})
    return "".join(f"{name}\n{payload[name]}\n" for name in names)
