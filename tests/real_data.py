"""Captured requests, payloads and calendars that lie beside the project, not in it.

They are found in ``../shared/fixtures``, or where ``BELLHOP_FIXTURES`` says. A test
that reads them carries ``@pytest.mark.real_data`` or asks for the fixture
``fixtures``: it is skipped where they are absent, and where they are present a
skip of it fails the run.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

_BESIDE = Path(__file__).resolve().parent.parent.parent / "shared/fixtures"
_PLACE = Path(os.environ.get("BELLHOP_FIXTURES") or _BESIDE)

# The folder, or None where there is none: then parametrize over nothing.
ROOT: Path | None = _PLACE if _PLACE.is_dir() else None

WHY_ABSENT = f"no captured data at {_PLACE} (BELLHOP_FIXTURES may name another folder)"

_used: Counter[str] = Counter()


def used(what: str, count: int = 1) -> None:
    """Count ``count`` more ``vectors``, ``payloads`` or ``calendars`` as used.

    The run's summary prints the totals, so call it from inside a test.
    """
    _used[what] += count


def counted() -> dict[str, int]:
    """Return what this process has used so far."""
    return dict(_used)


def vectors() -> list[dict[str, Any]]:
    """Return the signed requests with known answers; empty where absent."""
    if ROOT is None:
        return []
    text = (ROOT / "vectors/vectors.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found


def handshakes() -> list[dict[str, Any]]:
    """Return the set-up requests and the answers wanted; empty where absent."""
    if ROOT is None:
        return []
    text = (ROOT / "vectors/handshakes.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)
    return found
