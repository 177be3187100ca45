"""Key pairs for senders that sign with a private key: ours, made on this machine.

A draft's ``secret`` is then the private key (PEM). What the source is given is
the public part, as the sender would show it. ``cryptography`` is imported only
here, and only when such a sender signs.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes


def pem(key: PrivateKeyTypes) -> str:
    """Write a private key as a draft's secret."""
    from cryptography.hazmat.primitives import serialization as form

    return key.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    ).decode()


@functools.lru_cache(64)  # an RSA key is checked as it is read, for 50 ms
def read(text: str) -> Any:
    """Read a private key back, whatever its kind.

    Raises:
        ValueError: it is none.
    """
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    return load_pem_private_key(text.encode(), password=None)


def new_rsa() -> str:
    """Make a private RSA key of 2048 bits."""
    from cryptography.hazmat.primitives.asymmetric import rsa

    return pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def rsa_signature(text: str, signed: bytes, *, sha1: bool = False) -> str:
    """Sign with PKCS #1 v1.5 over SHA-256, or SHA-1 where a sender still does."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    digest = hashes.SHA1() if sha1 else hashes.SHA256()  # noqa: S303 - as SNS does
    signature: bytes = read(text).sign(signed, padding.PKCS1v15(), digest)
    return base64.b64encode(signature).decode()


def certificate(text: str, owner: str, at: datetime, *, days: int = 30) -> bytes:
    """Return a certificate of ``owner`` over an RSA key, good around ``at``."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    key = read(text)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, owner)])
    made: bytes = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(at - timedelta(days=days))
        .not_valid_after(at + timedelta(days=days))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(owner)]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
        .public_bytes(_encoding("PEM"))
    )
    return made


def name_of(text: str, letters: int) -> str:
    """Return hex letters that go with a key, for the names of files and keys."""
    from cryptography.hazmat.primitives.serialization import PublicFormat

    public = read(text).public_key()
    der = public.public_bytes(_encoding("DER"), PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(der).hexdigest()[:letters]


def _encoding(name: str) -> Any:
    from cryptography.hazmat.primitives.serialization import Encoding

    return getattr(Encoding, name)
