"""The wire record: every call of a function, written by the side it arrived at.

The engine notes AWS calls and the ends of function processes, the outside
world notes what reached it; both append to one file, one JSON object a line.
So the counts are of what was sent, retries included, not of what the code
believes it sent.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Every call of a function carries these, put on by local/hooks.
CALL_HEADER = "x-bellhop-call"
CALLER_HEADER = "x-bellhop-caller"
# An entry for the bus that carries this as its trace header is taken for AWS's own.
PLAYED_BY_AWS = "played-by-aws"


def append(wire: Path, /, **fields: Any) -> None:
    """Add one line. A single write in append mode: lines of two writers never mix."""
    line = json.dumps(fields, separators=(",", ":")).encode() + b"\n"
    descriptor = os.open(wire, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: ``name`` is ``<service>.<Operation>``, ``world.POST`` for an effect.

    ``function`` is the caller's name in the engine, ``pid`` its process.
    """

    name: str
    function: str
    pid: int
    at: float
    status: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Reads the record of one local stack."""

    path: Path

    def mark(self) -> int:
        """Return the present end, to count from later."""
        return self.path.stat().st_size

    def calls(self, since: int = 0, function: str = "") -> list[Call]:
        """Return the calls after ``since`` of functions named like ``function``."""
        return [
            Call(
                name=line["call"],
                function=line["function"],
                pid=line["pid"],
                at=line["at"],
                status=line["status"],
                path=line["path"],
            )
            for line in self._lines(since)
            if "call" in line and function in line["function"]
        ]

    def counts(self, since: int = 0, function: str = "") -> Counter[str]:
        """Return how often each call was made."""
        return Counter(call.name for call in self.calls(since, function))

    def exits(self, since: int = 0) -> dict[int, int]:
        """Return how function processes ended: pid to exit code (-9: SIGKILL)."""
        return {
            line["pid"]: line["exit"] for line in self._lines(since) if "exit" in line
        }

    def points(self, since: int = 0, function: str = "") -> list[str]:
        """Return the recorded calls as kill points ``<service>.<Operation>:<n>``.

        ``n`` counts from ``since``, in the order of arrival: what
        ``BELLHOP_KILL_AT`` wants behind ``before:`` or ``after:``.
        """
        seen: Counter[str] = Counter()
        points = []
        for call in self.calls(since, function):
            seen[call.name] += 1
            points.append(f"{call.name}:{seen[call.name]}")
        return points

    def _lines(self, since: int) -> Iterator[dict[str, Any]]:
        with self.path.open("rb") as file:
            file.seek(since)
            for line in file:
                # A line without its end is still being written.
                if line.endswith(b"\n"):
                    yield json.loads(line)
