"""Tells whether two failures are the same fault."""

from __future__ import annotations

import hashlib
import re
import traceback

# In this order: what changes from one occurrence of a fault to the next.
_MASKS = (
    (re.compile(r"https?://\S+"), "<url>"),
    (re.compile(r"""'[^']{1,200}'|"[^"]{1,200}\""""), "<text>"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.I), "<id>"),
    (re.compile(r"\b(?=[0-9a-z_-]*\d)[0-9a-z_-]{12,}\b", re.I), "<id>"),
    (re.compile(r"0x[0-9a-f]+", re.I), "<id>"),
    (re.compile(r"\d+(?:[.,:]\d+)*"), "<n>"),
)
# A message may quote a whole body; its beginning tells the fault.
_LOOKED_AT = 500


def masked(message: str) -> str:
    """Return ``message`` without numbers, ids, quoted values and addresses."""
    text = message[:_LOOKED_AT]
    for pattern, word in _MASKS:
        text = pattern.sub(word, text)
    return text


def fingerprint(error: BaseException, message: str) -> str:
    """Return 16 hex digits, equal for failures of one type, message and place.

    The place is the innermost function, without its line: an edit above it
    does not make an old fault a new one.
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = ""
    if frames:
        place = f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].name}"
    whole = "\n".join((type(error).__name__, masked(message), place))
    return hashlib.sha256(whole.encode("utf-8", "backslashreplace")).hexdigest()[:16]
