"""Signing a published request again gives the published signature.

The verifiers are held against the same requests elsewhere; neither side knows
the other, so an error both would make in the same way cannot hide.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from cli import signers
from cli.signers import Draft, discord, mailgun, sendgrid, zendesk
from tests import real_data

Vector = Mapping[str, Any]

# Requests that no sender of ours would make, though a receiver must accept them.
NOT_REPRODUCED = {
    "twilio-https-443-added": "signed with the port, which the address does not have",
    "twilio-http-80-added": "signed with the port, which the address does not have",
    "twilio-https-port-stripped": "signed without the port that the address has",
    "twilio-sdk-port-target-only": "signed without the port that the address has",
    "twilio-sdk-quote-target-escaped": "signed with the quote, escaped in the address",
    "twilio-special": "signed with the quote escaped, plain in the address",
    "svix-unbranded-headers": "signed by Svix under the headers of the specification",
    "twilio-sdk-port-signed-only": "signed with the port, which the address has not",
}


def test_every_published_signature_is_reproduced(
    fixtures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = json.loads((fixtures / "vectors/vectors.json").read_text("utf-8"))
    ours = [v for v in everything if v["valid"] and v["secret"] and sender(v)]
    counts: Counter[str] = Counter()
    differing = set()

    for vector in ours:
        secrets = [vector["secret"], *(vector.get("additional_secrets") or [])]
        if any(is_reproduced(vector, secret) for secret in secrets):
            counts[vector["sender"]] += 1
        else:
            differing.add(vector["id"])
    real_data.used("vectors", len(ours))

    with capsys.disabled():
        print("\nsigned again:", dict(sorted(counts.items())))  # noqa: T201
    assert differing == set(NOT_REPRODUCED)
    assert len(counts) == 38


@pytest.mark.parametrize("name", ["discord", "sendgrid"])
def test_what_we_sign_with_a_key_is_what_was_signed(name: str, fixtures: Path) -> None:
    everything = json.loads((fixtures / "vectors/vectors.json").read_text("utf-8"))
    published = [v for v in everything if v["valid"] and v["sender"] == name]

    for vector in published:
        headers = {n.lower(): text for n, text in vector["headers"].items()}
        covered = (discord if name == "discord" else sendgrid).signed(
            draft(vector, vector["secret"])
        )
        if name == "discord":
            public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(vector["secret"]))
            public.verify(bytes.fromhex(headers["x-signature-ed25519"]), covered)
        else:
            key = load_der_public_key(base64.b64decode(vector["secret"]))
            assert isinstance(key, ec.EllipticCurvePublicKey)
            signature = headers["x-twilio-email-event-webhook-signature"]
            key.verify(base64.b64decode(signature), covered, ec.ECDSA(SHA256()))
    real_data.used("vectors", len(published))

    assert published


def is_reproduced(vector: Vector, secret: str) -> bool:
    """Whether each proof that we write is among those that were published.

    A header may hold several signatures, of which ours is one.
    """
    unsigned = draft(vector, secret)
    headers = {n.lower(): text for n, text in vector["headers"].items()}
    if vector["sender"] == "mailgun":
        published = unsigned.payload["signature"]
        return bool(mailgun.proof(unsigned, published["token"]) == published)
    if vector["sender"] == "zendesk":
        published = headers["x-zendesk-webhook-signature"]
        return bool(zendesk.signature(unsigned, vector["timestamp"]) == published)
    signed = signers.Signer(sender(vector)).sign(unsigned)
    if sender(vector).startswith("shopify-"):  # the proof is in the query
        return set(parse_qsl(signed.query)) <= set(parse_qsl(unsigned.body.decode()))
    proofs = {n.lower(): pieces(text) for n, text in signed.headers.items() if proof(n)}
    if not proofs:  # the proof is in the body
        return bool(json.loads(signed.body) == unsigned.payload)
    both = proofs.keys() & headers.keys()
    return bool(both) and all(proofs[name] <= pieces(headers[name]) for name in both)


def pieces(text: str) -> set[str]:
    """Split a header into its signatures and its times."""
    return set(re.split(r"[;, ]+", text))


def proof(name: str) -> bool:
    """Whether a header of that name proves something."""
    return any(part in name.lower() for part in ("signature", "hmac", "token"))


def sender(vector: Vector) -> str:
    """Return who signs such a request here; empty where nobody does."""
    name: str = vector["sender"].replace("generic-hmac", "generic")
    has_public_key = vector["secret_format"] not in {"utf8", "whsec-base64", "hex"}
    return name if name in signers.names() and not has_public_key else ""


def options(vector: Vector) -> dict[str, Any]:
    """Return what the source's table would say of a sender with variants."""
    scheme, headers = vector["scheme"], vector["headers"]
    match vector["sender"]:
        case "generic-hmac":
            prefix, is_prefixed, _ = headers["X-Signature"].rpartition("=")
            return {
                "algorithm": scheme.split("-")[1],
                "signature_header": "X-Signature",
                "prefix": prefix + is_prefixed,
            }
        case "hubspot":
            return {"version": scheme.split("-")[1], "method": vector["method"]}
        case "okta":
            return {"header": "X-Okta-Token"}
    return {}


def draft(vector: Vector, secret: str) -> Draft:
    """Return the vector's request as it was before signing."""
    headers = {name.lower(): text for name, text in vector["headers"].items()}
    ids = (text for name, text in headers.items() if name.endswith(("-id", "delivery")))
    return Draft(
        event="any.event",
        body=body(vector) or query(vector),
        secret=secret,
        at=instant(vector["timestamp"]),
        id=next(ids, "d-1"),
        url=vector["url"] or "",
        media_type=headers.get("content-type", "application/json"),
        options=options(vector),
    )


def query(vector: Vector) -> bytes:
    """Return the fields that a GET has in the place of a body."""
    is_get = vector["sender"].startswith("shopify-")
    return str(vector["url"]).partition("?")[2].encode() if is_get else b""


def body(vector: Vector) -> bytes:
    """Return the exact bytes, spelled out or as a repeated character."""
    if repeat := vector.get("body_repeat"):
        return bytes(repeat["char"], "ascii") * int(repeat["count"])
    return base64.b64decode(vector.get("body_b64") or "")


def instant(text: str | None) -> datetime:
    """Read a time as any of the senders writes it."""
    if text is None:
        return datetime(2026, 11, 29, tzinfo=UTC)
    if text.isdigit():
        number = int(text)
        return datetime.fromtimestamp(number / (1000 if number > 1e11 else 1), UTC)
    return datetime.fromisoformat(text)
