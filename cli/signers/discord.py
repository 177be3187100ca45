"""Discord: Ed25519 over time and body; the source holds the public key, in hex."""

from __future__ import annotations

from cli.signers import keys
from cli.signers.draft import Delivery, Draft

# The time is signed, but nobody has named a window for it.
SECRET_IS_MADE_BY_SENDER = True


def sign(draft: Draft) -> Delivery:
    """Sign as Discord signs interactions and webhook events."""
    key = keys.read(draft.secret)
    return draft.send(
        {
            "User-Agent": "Discord-Interactions/1.0 (+https://discord.com)",
            "X-Signature-Timestamp": draft.seconds,
            "X-Signature-Ed25519": key.sign(signed(draft)).hex(),
        }
    )


def signed(draft: Draft) -> bytes:
    """Return what the signature covers."""
    return draft.seconds.encode() + draft.body


def new_key() -> str:
    """Make a private key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return keys.pem(Ed25519PrivateKey.generate())


def public(secret: str) -> str:
    """Return the public part as the developer portal shows it."""
    part: bytes = keys.read(secret).public_key().public_bytes_raw()
    return part.hex()
