"""``make bench``: every number of docs/reference/performance.md, beside its bound.

Exit code 1 when one is outside of it. ``python -m bench NAME ...`` measures
only the subjects named.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator

from bench import counted, timed
from bench.findings import Finding
from bench.processes import FLEET
from stacks import packaging

Subject = Callable[[], Iterator[Finding]]


def _subjects() -> dict[str, Subject]:
    core = packaging.stage([], FLEET, local=True)
    agents = packaging.stage(["agents"], FLEET, local=True)
    return {
        "acceptance": lambda: counted.acceptance(core),
        "units": lambda: counted.write_units(agents),
        "size": counted.core_bytes,
        "receiver": lambda: timed.receiver_warm(core),
        "start": lambda: timed.receiver_start(core),
        "naive": lambda: timed.receiver_naive(core),
        "worker": lambda: timed.worker_batch(agents),
        "relay": lambda: timed.relay_batch(core),
    }


def _tell(finding: Finding) -> None:
    verdict = "ok" if finding.holds else "OUTSIDE"
    print(
        f"{finding.what:<56} {finding.measured:<26} {finding.bound:<12} {verdict}",
        flush=True,
    )
    for line in finding.raw:
        print(f"    {line}", flush=True)


def main(arguments: list[str]) -> int:
    """Measure; return 0 when every number is within its bound."""
    subjects = _subjects()
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("subjects", nargs="*", help=f"of: {', '.join(subjects)}; all")
    chosen = parser.parse_args(arguments).subjects or list(subjects)
    unknown = set(chosen) - set(subjects)
    if unknown:
        parser.error(f"no such subject: {', '.join(sorted(unknown))}")
    load = os.getloadavg()[0]
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f};"
        " medians of rounds by turns, in brackets the middle half of the ratios\n"
    )
    began = time.monotonic()
    outside = []
    for name in chosen:
        for finding in subjects[name]():
            _tell(finding)
            if not finding.holds:
                outside.append(finding.what.strip())
    print(f"\n{time.monotonic() - began:.0f} s")
    for what in outside:
        print(f"outside its bound: {what}", file=sys.stderr)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
