"""Signing a published request again gives the published signature.

The verifiers are held against the same requests elsewhere; neither side knows
the other, so an error both would make in the same way cannot hide.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections import Counter
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest

from cli import signers
from cli.signers import Draft

ROOT = Path(__file__).parents[3]
FIXTURES = Path(os.environ.get("BELLHOP_FIXTURES") or ROOT.parent / "shared/fixtures")
VECTORS = FIXTURES / "vectors" / "vectors.json"

# Requests that no sender of ours would make, though a receiver must accept them.
NOT_REPRODUCED: dict[str, str] = {}

pytestmark = pytest.mark.skipif(not VECTORS.exists(), reason="no fixtures here")


def vectors() -> list[dict[str, Any]]:
    """Return the valid vectors of every sender that a signer is written for."""
    if not VECTORS.exists():
        return []
    everything = json.loads(VECTORS.read_text(encoding="utf-8"))
    return [v for v in everything if v["valid"] and v["sender"] in signers.names()]


def test_every_published_signature_is_reproduced(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts: Counter[str] = Counter()
    differing = set()

    for vector in vectors():
        secrets = [vector["secret"], *(vector.get("additional_secrets") or [])]
        if any(is_reproduced(vector, secret) for secret in secrets):
            counts[vector["sender"]] += 1
        else:
            differing.add(vector["id"])

    with capsys.disabled():
        print("\nsigned again:", dict(sorted(counts.items())))  # noqa: T201
    assert differing == set(NOT_REPRODUCED)


def is_reproduced(vector: dict[str, Any], secret: str) -> bool:
    """Whether each proof that we write is among those that were published.

    A header may hold several signatures, of which ours is one.
    """
    signed = signers.Signer(vector["sender"]).sign(draft(vector, secret))
    published = {n.lower(): pieces(text) for n, text in vector["headers"].items()}
    proofs = {n.lower(): pieces(text) for n, text in signed.headers.items() if proof(n)}
    both = proofs.keys() & published.keys()
    return bool(both) and all(proofs[name] <= published[name] for name in both)


def pieces(text: str) -> set[str]:
    """Split a header into its signatures and its times."""
    return set(re.split(r"[;, ]+", text))


def proof(name: str) -> bool:
    """Whether a header of that name proves something."""
    return any(part in name.lower() for part in ("signature", "hmac", "token"))


def draft(vector: dict[str, Any], secret: str) -> Draft:
    """Return the vector's request as it was before signing."""
    headers = {name.lower(): text for name, text in vector["headers"].items()}
    ids = (text for name, text in headers.items() if name.endswith(("-id", "delivery")))
    return Draft(
        event="any.event",
        body=base64.b64decode(vector.get("body_b64") or ""),
        secret=secret,
        at=instant(vector["timestamp"]),
        id=next(ids, "d-1"),
        url=vector["url"] or "",
        media_type=headers.get("content-type", "application/json"),
    )


def instant(text: str | None) -> datetime:
    """Read a time as any of the senders writes it."""
    if text is None:
        return datetime(2026, 11, 29, tzinfo=UTC)
    if text.isdigit():
        number = int(text)
        return datetime.fromtimestamp(number / (1000 if number > 1e11 else 1), UTC)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return parsedate_to_datetime(text)
