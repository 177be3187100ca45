"""Proofs over the address that the sender called: Twilio's, HubSpot's, Shopify's."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

from lambdas.receiver.request import FORM, Request
from lambdas.receiver.schemes import Alone, Part, as_text, keys
from lambdas.shared.errors import Code, Rejected

_MOST_FIELDS = 1000


def _pairs(text: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError as error:
        raise Rejected(Code.BAD_SIGNATURE, "the fields are not decodable") from error


def sorted_query(*without: str, joint: str) -> Part:
    """Return the part that is the query's ``name=value`` pairs, decoded and sorted.

    Values of a repeated name are joined by commas, as Shopify does. A body is
    refused: whoever may read the address, a browser's owner, could write one.
    """

    def part(request: Request) -> bytes:
        # Other methods are refused for what they are.
        if request.body and request.method == "GET":
            raise Rejected(Code.BAD_SIGNATURE, "nothing binds the body")
        values: dict[str, list[str]] = {}
        for name, value in _pairs(request.query):
            if name not in without:
                values.setdefault(name, []).append(value)
        return as_text(
            joint.join(sorted(f"{n}={','.join(v)}" for n, v in values.items()))
        )

    return part


class PlainHash:
    """HubSpot's versions 1 and 2: no HMAC, the secret is hashed in front.

    Version 1 binds the body alone: what has none proves nothing by it.
    """

    def speaks(self, request: Request) -> bool:
        """Tell whether there is such a signature."""
        return bool(request.header("x-hubspot-signature"))

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:  # noqa: ARG002 - no time
        """See :meth:`lambdas.receiver.schemes.Proof.verify`."""
        version = request.header("x-hubspot-signature-version")
        parts = {"v2": request.method.encode() + as_text(request.url)}
        if request.body:
            parts["v1"] = b""
        given = as_text(request.header("x-hubspot-signature"))
        for index, secret in keys(secrets, as_text):
            signed = secret + parts.get(version, b"") + request.body
            digest = hashlib.sha256(signed).hexdigest().encode()
            if version in parts and hmac.compare_digest(given, digest):
                return index
        raise Rejected(Code.BAD_SIGNATURE, "the plain hash does not match")


class Twilio(Alone):
    """The address, and all form fields or a hash of the body; see its module."""

    def verify(self, request: Request, secrets: Sequence[str], now: datetime) -> int:  # noqa: ARG002 - no time
        """See :meth:`lambdas.receiver.schemes.Proof.verify`."""
        fields = _twilio_fields(request)
        given = as_text(request.header("x-twilio-signature"))
        settings = request.header("x-twilio-webhooks-signature-settings")
        for index, key in keys(secrets, as_text):
            for url in spellings(request.url):
                digest = hmac.digest(key, as_text(url) + fields, _algorithm(settings))
                if hmac.compare_digest(given, base64.b64encode(digest)):
                    return index
        raise Rejected(Code.BAD_SIGNATURE, "the signature does not match")


def _twilio_fields(request: Request) -> bytes:
    """Return what the signature adds to the address; check the body's own hash."""
    wanted = request.arguments.get("bodySHA256")
    if wanted is not None:
        found = hashlib.sha256(request.body).hexdigest()
        if not hmac.compare_digest(as_text(wanted), found.encode()):
            raise Rejected(Code.BAD_SIGNATURE, "the body is not that of bodySHA256")
    if request.media_type != FORM:
        if request.body and wanted is None:
            raise Rejected(Code.BAD_SIGNATURE, "nothing binds the body")
        return b""
    try:
        form = request.body.decode()
    except UnicodeDecodeError as error:
        raise Rejected(Code.BAD_SIGNATURE, "the form is not UTF-8") from error
    return b"".join(as_text(name + value) for name, value in sorted(set(_pairs(form))))


def _algorithm(settings: str) -> Literal["sha1", "sha256"]:
    words = settings.replace(" ", "").upper().split(",")
    return "sha256" if "ALGORITHM=HMAC_SHA256" in words else "sha1"


def spellings(url: str) -> list[str]:
    """Return how Twilio may have written the address that it called."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return [url]
    bare = parts.netloc if port is None else parts.netloc.rpartition(":")[0]
    usual = 443 if parts.scheme == "https" else 80
    scheme, rest = f"{parts.scheme}://", url.partition("://")[2][len(parts.netloc) :]
    bases = [url, f"{scheme}{bare}{rest}", f"{scheme}{bare}:{port or usual}{rest}"]
    spelled = [
        text
        for base in bases
        for text in (base, base.replace("%27", "'"), base.replace("'", "%27"))
    ]
    return list(dict.fromkeys(spelled))
