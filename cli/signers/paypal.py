"""PayPal: RSA over id, time, webhook id and the body's CRC-32, by its certificate."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cli.signers import keys
from cli.signers.draft import Delivery, Draft

SIGNS_TIME_SECONDS = 3 * 86_400
HAS_SECRET = False
OPTIONS = {"webhook_id": "4JH86294D6297924G"}

_CERTIFICATES = "https://api.paypal.com/v1/notifications/certs"


def _certificate_url(secret: str) -> str:
    name = keys.name_of(secret, 24)
    return f"{_CERTIFICATES}/CERT-{name[:8]}-{name[8:16]}-{name[16:]}"


def new_key() -> str:
    """Make a private key."""
    return keys.new_rsa()


def serves(key: str, at: datetime, options: Mapping[str, Any]) -> dict[str, bytes]:  # noqa: ARG001
    """Return what PayPal has at which address."""
    owner = "messageverificationcerts.paypal.com"
    return {_certificate_url(key): keys.certificate(key, owner, at)}


def sign(draft: Draft) -> Delivery:
    """Sign as an app's webhook does."""
    time = draft.at.isoformat(timespec="seconds").replace("+00:00", "Z")
    webhook = draft.options["webhook_id"]
    signed = f"{draft.id}|{time}|{webhook}|{zlib.crc32(draft.body)}".encode()
    signature = keys.rsa_signature(draft.secret, signed)
    return draft.send(
        {
            "PAYPAL-TRANSMISSION-ID": draft.id,
            "PAYPAL-TRANSMISSION-TIME": time,
            "PAYPAL-AUTH-ALGO": "SHA256withRSA",
            "PAYPAL-CERT-URL": _certificate_url(draft.secret),
            "PAYPAL-TRANSMISSION-SIG": signature,
        }
    )
