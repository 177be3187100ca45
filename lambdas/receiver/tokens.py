"""Signed tokens (JWT, RS256) whose keys the issuer publishes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from lambdas.receiver.public_keys import LEAST_RSA_BITS, with_senders
from lambdas.receiver.request import Request
from lambdas.shared.errors import Code, Rejected, Unavailable
from lambdas.shared.fetch import NotServed, Pin

_COMPACT = re.compile(r"[A-Za-z0-9_-]{2,2048}(\.[A-Za-z0-9_-]{2,4096}){2}")
# An unknown key may be a new one, or a forger's: one more look a minute.
_LOOK_AGAIN = timedelta(seconds=60)
# Clocks differ; a token that is not valid yet is nobody's replay.
_SKEW_SECONDS = 60


def claims_of_bearer(
    request: Request, keys_url: str, allowed: Pin, now: datetime
) -> Mapping[str, Any]:
    """Return what the token in ``Authorization`` says, at a time it is valid at.

    The caller compares issuer, audience and whom it is about.

    Raises:
        Rejected: it is missing, not signed by a published key, or not valid now.
        Unavailable: the keys cannot be fetched.
    """
    scheme, _, token = request.header("authorization").partition(" ")
    if scheme.lower() != "bearer":
        raise Rejected(Code.BAD_SIGNATURE, "there is no token")
    key = _key(request, keys_url, allowed, header_of_token(token).get("kid"))
    try:
        claims = json.loads(content_of_token(token, key))
    except (ValueError, RecursionError) as error:
        raise Rejected(Code.BAD_SIGNATURE, "the token holds no claims") from error
    if not isinstance(claims, dict):
        raise Rejected(Code.BAD_SIGNATURE, "the token holds no claims")
    expires, issued = claims.get("exp"), claims.get("iat")
    if type(expires) is not int or type(issued) is not int:
        raise Rejected(Code.BAD_SIGNATURE, "the token names no times")
    if not issued - _SKEW_SECONDS <= now.timestamp() <= expires:
        raise Rejected(Code.STALE, "the token is not valid now")
    return claims


def _key(request: Request, url: str, allowed: Pin, kid: Any) -> dict[str, Any]:
    if not isinstance(kid, str):
        raise Rejected(Code.BAD_SIGNATURE, "the token names no key")
    for newer_than in (None, _LOOK_AGAIN):
        try:
            found = json.loads(request.fetch(url, allowed, newer_than=newer_than))
            keys = {key["kid"]: dict(key) for key in found["keys"]}
        except (
            NotServed,
            ValueError,
            LookupError,
            TypeError,
            RecursionError,
        ) as error:
            raise Unavailable("the issuer's keys are not where they were") from error
        if kid in keys:
            return keys[kid]
    raise Rejected(Code.BAD_SIGNATURE, "the token's key is unknown")


@with_senders
def header_of_token(token: str) -> dict[str, Any]:
    """Return a token's header, of which nothing is proven yet.

    Raises:
        Rejected: it is not a token signed with RS256.
    """
    import jwt

    # PyJWT's base64 overlooks foreign letters: one token would have many spellings.
    if not _COMPACT.fullmatch(token):
        raise Rejected(Code.BAD_SIGNATURE, "it is not a signed token")
    try:
        header: dict[str, Any] = jwt.get_unverified_header(token)
    except (jwt.InvalidTokenError, ValueError, RecursionError) as error:
        raise Rejected(Code.BAD_SIGNATURE, "the token's header is junk") from error
    if header.get("alg") != "RS256":
        raise Rejected(Code.BAD_SIGNATURE, "the token is not signed with RS256")
    return header


@with_senders
def content_of_token(token: str, jwk: dict[str, Any]) -> bytes:
    """Return what a token signed with RS256 says, by the key ``jwk``.

    Raises:
        Rejected: the signature does not hold, or the key is not for it.
    """
    import jwt
    from cryptography.hazmat.primitives.asymmetric import rsa

    header_of_token(token)
    is_for_signatures = (
        jwk.get("kty") == "RSA"
        and jwk.get("alg") in (None, "RS256")
        and jwk.get("use") in (None, "sig")
        and "verify" in (jwk.get("key_ops") or ["verify"])
    )
    if not is_for_signatures:
        raise Rejected(Code.BAD_SIGNATURE, "the key is not for such signatures")
    try:
        key = jwt.PyJWK(jwk, algorithm="RS256").key
        if not isinstance(key, rsa.RSAPublicKey) or key.key_size < LEAST_RSA_BITS:
            raise Rejected(Code.BAD_SIGNATURE, "the key is too weak")
        content = jwt.PyJWS().decode(token, key, algorithms=["RS256"])
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise Rejected(Code.BAD_SIGNATURE, "the token is not its issuer's") from error
    return bytes(content)
