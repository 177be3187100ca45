"""What an agent made, as the JSON text that the ledger keeps of it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from lambdas.shared.errors import GiveUp


def json_text(what: str, value: Any) -> str:
    """Return ``value`` as JSON, in ASCII; ``what`` begins the complaint.

    Raises:
        GiveUp: it is not JSON: of another type, in a circle, or too deep.
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        kind = type(value).__name__
        raise GiveUp(f"{what} a {kind}, not JSON: {error}") from error


def folder_of(event_id: str) -> str:
    """Return where in the bucket lies what the runs of an event made."""
    owner = hashlib.sha256(event_id.encode("utf-8", "backslashreplace")).hexdigest()
    return f"results/{owner}"
