"""SendGrid: ECDSA (P-256) over time and body; the source holds the public key."""

from __future__ import annotations

import base64

from cli.signers import keys
from cli.signers.draft import Delivery, Draft

# The time is signed, but nobody has named a window for it.
SECRET_IS_MADE_BY_SENDER = True

_HEADER = "X-Twilio-Email-Event-Webhook"


def sign(draft: Draft) -> Delivery:
    """Sign as the event webhook does."""
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256

    key = keys.read(draft.secret)
    signature = key.sign(signed(draft), ec.ECDSA(SHA256()))
    return draft.send(
        {
            f"{_HEADER}-Timestamp": draft.seconds,
            f"{_HEADER}-Signature": base64.b64encode(signature).decode(),
        }
    )


def signed(draft: Draft) -> bytes:
    """Return what the signature covers."""
    return draft.seconds.encode() + draft.body


def new_key() -> str:
    """Make a private key."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return keys.pem(ec.generate_private_key(ec.SECP256R1()))


def public(secret: str) -> str:
    """Return the public part as the mail settings show it."""
    from cryptography.hazmat.primitives import serialization as form

    key = keys.read(secret).public_key()
    der = key.public_bytes(form.Encoding.DER, form.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()
