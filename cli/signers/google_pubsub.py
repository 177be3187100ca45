"""Google Pub/Sub: a token of the push subscription's account; the body is not in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cli.signers import keys
from cli.signers.draft import Delivery, Draft

USUAL_EVENT = "message"
SIGNS_TIME_SECONDS = 3600
FUTURE_SECONDS = 60
COVERS_BODY = False
HAS_SECRET = False
OPTIONS = {
    "service_account": "push@corner-cafe.iam.gserviceaccount.com",
    "audience": "https://hooks.example.com/webhooks/google-pubsub",
}

_KEYS = "https://www.googleapis.com/oauth2/v3/certs"


def new_key() -> str:
    """Make a private key."""
    return keys.new_rsa()


def serves(key: str, at: datetime, options: Mapping[str, Any]) -> dict[str, bytes]:  # noqa: ARG001
    """Return what Google has at which address."""
    return {_KEYS: json.dumps({"keys": [jwk(key)]}).encode()}


def jwk(secret: str) -> dict[str, str]:
    """Return the public key as Google publishes it."""
    numbers = keys.read(secret).public_key().public_numbers()
    return {
        "kty": "RSA",
        "use": "sig",
        "alg": "RS256",
        "kid": keys.name_of(secret, 40),
        "n": _base64url(numbers.n.to_bytes(256, "big")),
        "e": _base64url(numbers.e.to_bytes(3, "big")),
    }


def sign(draft: Draft) -> Delivery:
    """Sign as a push subscription does, for an hour."""
    return draft.send({"Authorization": f"Bearer {token(draft.secret, claims(draft))}"})


def claims(draft: Draft) -> dict[str, Any]:
    """Return what the token says."""
    account = draft.options["service_account"]
    issued = int(draft.at.timestamp())
    return {
        "aud": draft.options["audience"],
        "azp": "113774264463038321964",
        "email": account,
        "email_verified": True,
        "exp": issued + 3600,
        "iat": issued,
        "iss": "https://accounts.google.com",
        "sub": "113774264463038321964",
    }


def token(secret: str, said: Mapping[str, Any], **header: Any) -> str:
    """Return a token, signed with RS256 whatever its ``header`` says."""
    head = {"alg": "RS256", "kid": jwk(secret)["kid"], "typ": "JWT", **header}
    parts = [_base64url(json.dumps(part).encode()) for part in (head, said)]
    signature = keys.rsa_signature(secret, ".".join(parts).encode())
    return ".".join([*parts, _base64url(base64.b64decode(signature))])


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
