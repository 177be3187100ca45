"""What a child tells its supervisor, and what is none of it. Pure.

An agent can write on its child's line, by mistake or not: what is not as a child says
it is a sign of life, and decides nothing.
"""

from __future__ import annotations

from lambdas.shared.adapters.lines import Line


def is_verdict(line: Line) -> bool:
    """Say whether ``line`` tells what becomes of the message."""
    match line:
        case {"verdict": str(), "is_done": bool(), "hide_seconds": None}:
            return True
        case {"verdict": str(), "is_done": bool(), "hide_seconds": int(seconds)}:
            return seconds >= 0
        case _:
            return False


def is_claim(line: Line) -> bool:
    """Say whether ``line`` tells that the run is claimed, and by whom."""
    match line:
        case {
            "claimed": str(),
            "key": str(),
            "token": str(),
            "attempt": int(),
            "begun_ms": int(),
            "lease_ends_ms": int(),
        }:
            return True
        case _:
            return False
