"""Signatures of key pairs against Wycheproof's hostile cases."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt import PyJWK

from lambdas.receiver.public_keys import Signed, as_ed25519, as_spki, as_whpk
from lambdas.receiver.request import Request
from lambdas.receiver.senders import BODY, Header
from lambdas.receiver.tokens import content_of_token
from lambdas.shared.errors import BellhopError
from lambdas.shared.fleet import Source
from tests.unit.receiver.door import NOW

SOURCE = Source(name="it", sender="discord", secret_name="bellhop/it")
HEX = Signed(signature=Header("s"), signed=(BODY,), key=as_ed25519)
BASE64 = Signed(
    signature=Header("s"), signed=(BODY,), key=as_whpk, encoding="base64", prefix="v1a,"
)

P256 = Signed(
    signature=Header("s"), signed=(BODY,), key=as_spki, curve="p256", encoding="base64"
)

# Valid by the letter of the specification, refused by us, and why.
STRICTER = {"emptyPayload": "a token that says nothing proves nobody"}


def cases(fixtures: Path, name: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    text = (fixtures / f"vectors/wycheproof/{name}.json").read_text("utf-8")
    for group in json.loads(text)["testGroups"]:
        for case in group["tests"]:
            yield group, case


def holds(proof: Signed, secret: str, body: bytes, signature: str) -> bool:
    request = Request(
        source=SOURCE,
        method="POST",
        headers={"s": signature},
        body=body,
        received_at=NOW,
    )
    try:
        return proof.verify(request, [secret], NOW) == 0
    except BellhopError:
        return False


@pytest.mark.parametrize("encoding", ["hex", "base64"])
def test_ed25519_agrees(
    encoding: str, fixtures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts: Counter[str] = Counter()
    for group, case in cases(fixtures, "ed25519_test"):
        public, body = group["publicKey"]["pk"], bytes.fromhex(case["msg"])
        if encoding == "hex":
            found = holds(HEX, public, body, case["sig"])
        else:
            key = base64.b64encode(bytes.fromhex(public)).decode()
            signature = base64.b64encode(bytes.fromhex(case["sig"])).decode()
            found = holds(BASE64, f"whpk_{key}", body, f"v1a,{signature}")

        assert found == (case["result"] == "valid"), case
        counts[case["result"]] += 1

    with capsys.disabled():
        print(f"\nEd25519 in {encoding}: {dict(counts)} agree")  # noqa: T201
    assert counts["valid"] > 50
    assert counts["invalid"] > 50


def test_tokens_agree(fixtures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A token of RS256 agrees; one of anything else is refused, whatever it is."""
    counts: Counter[str] = Counter()
    differing = []
    for group, case in cases(fixtures, "json_web_signature_test"):
        key = group.get("public", group["private"])
        try:
            content_of_token(case["jws"] if isinstance(case["jws"], str) else "", key)
            found = True
        except BellhopError:
            found = False
        is_ours = key.get("alg") == "RS256"
        wanted = is_ours and case["result"] == "valid"
        counts[f"{'RS256' if is_ours else 'other'} {case['result']}"] += 1
        if found != wanted:
            differing.append(case["comment"])

    with capsys.disabled():
        print(f"\ntokens: {dict(counts)} agree")  # noqa: T201
    assert differing == list(STRICTER)
    assert counts["RS256 valid"] > 5
    assert counts["RS256 invalid"] > 100


def test_ecdsa_agrees(fixtures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The signatures of tokens, in DER; what a token's header says is left out."""
    counts: Counter[str] = Counter()
    for group, case in cases(fixtures, "json_web_signature_test"):
        jwk = group.get("public", {})
        parts = case["jws"].split(".") if isinstance(case["jws"], str) else []
        if jwk.get("alg") != "ES256" or jwk.get("use") == "enc" or len(parts) != 3:
            continue
        signature = unpadded(parts[2])
        if len(signature) != 64 or b'"ES256"' not in unpadded(parts[0]):
            continue
        key = PyJWK(jwk).key.public_bytes(
            Encoding.DER, PublicFormat.SubjectPublicKeyInfo
        )
        numbers = (
            int.from_bytes(half, "big") for half in (signature[:32], signature[32:])
        )
        der = base64.b64encode(encode_dss_signature(*numbers)).decode()
        body = ".".join(parts[:2]).encode()

        found = holds(P256, base64.b64encode(key).decode(), body, der)

        assert found == (case["result"] == "valid"), case
        counts[case["result"]] += 1

    with capsys.disabled():
        print(f"\nECDSA: {dict(counts)} agree")  # noqa: T201
    assert counts["valid"] > 0
    assert counts["invalid"] > 5


def unpadded(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""
