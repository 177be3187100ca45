"""Key pairs for senders that sign with a private key: ours, made on this machine.

A draft's ``secret`` is then the private key (PEM). What the source is given is
the public part, as the sender would show it. ``cryptography`` is imported only
here, and only when such a sender signs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes


def pem(key: PrivateKeyTypes) -> str:
    """Write a private key as a draft's secret."""
    from cryptography.hazmat.primitives import serialization as form

    return key.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    ).decode()


def read(text: str) -> Any:
    """Read a private key back, whatever its kind.

    Raises:
        ValueError: it is none.
    """
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    return load_pem_private_key(text.encode(), password=None)
