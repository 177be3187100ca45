"""Plays a printed case again: ``python -m tests.model < script``."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from tests.model.cases import play
from tests.model.outside import Kind
from tests.model.system import Move


def read(lines: Iterable[str]) -> tuple[Kind, list[Move]]:
    """Read a script: what the outside world is like, and the moves."""
    kind, moves = Kind.HONOURS, []
    for line in map(str.strip, lines):
        if line.startswith("outside "):
            kind = Kind(line.removeprefix("outside "))
        elif line and not line.startswith("#"):
            moves.append(Move.read(line))
    return kind, moves


def main() -> int:
    """Play the script on standard input; returns 1 when it breaks a rule."""
    broken = play(*read(sys.stdin))
    sys.stdout.write(f"{broken or 'every rule held'}\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
