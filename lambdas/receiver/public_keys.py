"""Proofs by a key pair: the sender holds the private key, we the public one.

``cryptography`` and PyJWT are imported only when such a request is verified; the
receiver's asset holds them where a source's sender ``needs`` the set ``senders``.
"""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from lambdas.receiver.request import Request
from lambdas.receiver.schemes import Hmac, Key, keys
from lambdas.shared.errors import Code, Misconfigured, Rejected, Unavailable
from lambdas.shared.fetch import NotServed, Pin

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.x509 import Certificate

LEAST_RSA_BITS = 2048
# 1024 bytes: RSA of 8192 bits; nobody's signature is longer.
_LONGEST_SIGNATURE = 1400

T = TypeVar("T", bound=Callable[..., Any])


def with_senders(function: T) -> T:
    """Tell the operator what to write where the dependencies were left out."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ModuleNotFoundError as error:
            raise Misconfigured(
                f"{error.name} is not in the asset: for a key pair, standard-webhooks"
                " wants public_key = true in its source's table"
            ) from error

    return wrapped  # type: ignore[return-value]


# --- What a secret's text means, where it is a public key.
def as_ed25519(secret: str) -> bytes:
    """The secret is a public key of Ed25519, in hex."""
    return _of_32_bytes(bytes.fromhex(secret))


def as_whpk(secret: str) -> bytes | None:
    """The secret is one in base64 after ``whpk_``, or of another kind."""
    if not secret.startswith("whpk_"):
        return None
    text = secret.removeprefix("whpk_")
    return _of_32_bytes(base64.b64decode(text + "=" * (-len(text) % 4), validate=True))


def as_spki(secret: str) -> bytes:
    """The secret is a public key of P-256: DER in base64, or PEM."""
    text = "".join(line for line in secret.split("\n") if "-----" not in line)
    der = base64.b64decode("".join(text.split()), validate=True)
    _p256(der)
    return der


def _of_32_bytes(key: bytes) -> bytes:
    if len(key) != 32:
        raise ValueError("want 32 bytes")
    return key


def _p256(der: bytes) -> Any:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        key = load_der_public_key(der)
    except UnsupportedAlgorithm as error:
        raise ValueError("an unknown kind of key") from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp256r1":
        raise ValueError("want a key of P-256")
    return key


def _holds_ed25519(key: bytes, signature: bytes, signed: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ed25519

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(signature, signed)
    except InvalidSignature:
        return False
    return True


def _holds_p256(key: bytes, signature: bytes, signed: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        _p256(key).verify(signature, signed, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True


_HOLDS = {"ed25519": _holds_ed25519, "p256": _holds_p256}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed(Hmac):
    """A signature by a private key; all but the comparison is as with a keyed hash."""

    curve: Literal["ed25519", "p256"] = "ed25519"
    key: Key = as_ed25519

    @with_senders
    def _match(
        self, entries: Sequence[str], signed: bytes, secrets: Sequence[str]
    ) -> int:
        texts = [
            entry.removeprefix(self.prefix)
            for entry in entries
            if entry.startswith(self.prefix)
        ]
        tries = [found for text in texts if (found := self._decoded(text))]
        # Without a key of this kind nothing is imported.
        for index, key in keys(secrets, self.key):
            for signature in tries:
                if _HOLDS[self.curve](key, signature, signed):
                    return index
        raise Rejected(Code.BAD_SIGNATURE, f"none of {len(texts)} signatures verifies")

    def _decoded(self, text: str) -> bytes:
        """Return the signature's bytes; none if it is not of the encoding."""
        if self.encoding == "base64":
            return from_base64(text)
        try:
            return bytes.fromhex(text) if text.isalnum() else b""
        except ValueError:
            return b""


def from_base64(text: str) -> bytes:
    """Return the bytes of a signature in base64; none where it is none."""
    if len(text) > _LONGEST_SIGNATURE:
        return b""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


# --- A certificate at an address that the request names.
@with_senders
def key_of_certificate(
    request: Request, url: str, allowed: Pin, now: datetime, owner: re.Pattern[str]
) -> RSAPublicKey:
    """Return the key of the certificate at ``url``, which must be ``owner``'s.

    Raises:
        Rejected: the address is not allowed, nothing is there, it is not valid now.
        Unavailable: it cannot be fetched, or what was fetched cannot be read.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import rsa

    try:
        pem = request.fetch(url, allowed)
    except NotServed as error:
        raise Rejected(Code.BAD_SIGNATURE, f"the certificate: {error}") from error
    try:
        certificate = x509.load_pem_x509_certificate(pem)
        key = certificate.public_key()
    except ValueError as error:
        raise Unavailable("no certificate lies where the sender keeps its") from error
    _check(certificate, now, owner)
    if not isinstance(key, rsa.RSAPublicKey) or key.key_size < LEAST_RSA_BITS:
        raise Rejected(Code.BAD_SIGNATURE, "the certificate's key is too weak")
    return key


def _check(certificate: Certificate, now: datetime, owner: re.Pattern[str]) -> None:
    from cryptography.x509.oid import NameOID

    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        raise Rejected(Code.BAD_SIGNATURE, "the certificate is not valid now")
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if not any(owner.fullmatch(str(name.value)) for name in names):
        raise Rejected(Code.BAD_SIGNATURE, "the certificate is another's")


@with_senders
def check_rsa(
    key: RSAPublicKey, signature: str, signed: bytes, digest: Literal["sha1", "sha256"]
) -> None:
    """Check a PKCS #1 v1.5 signature in base64.

    Raises:
        Rejected: it does not hold.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    algorithm = hashes.SHA256() if digest == "sha256" else hashes.SHA1()  # noqa: S303 - SNS's version 1
    try:
        key.verify(from_base64(signature), signed, padding.PKCS1v15(), algorithm)
    except InvalidSignature as error:
        raise Rejected(Code.BAD_SIGNATURE, "the signature does not hold") from error
