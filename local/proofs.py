"""``make test`` and ``make prove``: every check, one summary.

Stages that start engines mostly wait (for a message to show again, for a clock),
so they run aside, in lanes of their own, and what they print comes at the end.
What merely computes gives way to them (``nice``), so that a machine short of cores
makes the whole late, and no test fail whose agents have seconds.
Within a lane it is one stage after another. All stages run, also after one has
failed; the exit code is 0 only when all passed. The last line counts the tests of
all stages together.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BIN = Path(sys.executable).parent

_CLOSING_LINE = re.compile(r"^=+ .*\bin [\d.:]+m?s.*=+$")
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|error)s?\b")
_WORTH_REPEATING = ("FAILED tests/", "ERROR tests/", "real data: ")


@dataclass(frozen=True)
class Stage:
    """One check: its name in the summary, and its command.

    ``aside`` names the lane that it runs in, beside all others; ``is_timed`` says
    that clocks decide there, so that it goes before what computes.
    """

    name: str
    command: list[str | Path]
    aside: str | None = None
    is_timed: bool = False


@dataclass
class Result:
    """How a stage ended; ``lines`` are those that the summary repeats."""

    stage: Stage
    exit_code: int
    seconds: float
    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)


def _pytest(name: str, *arguments: str, aside: str | None = None) -> Stage:
    command: list[str | Path] = [sys.executable, "-m", "pytest", *arguments]
    return Stage(name, command, aside, is_timed=aside not in {None, _ONE_CORE})


# What computes on one core, one after another.
_ONE_CORE = "the one core"
_DEAD_LETTERS = "tests/e2e/dead_letters"
_SEEN_AND_SAFE = "tests/e2e/seen_and_safe"
_LONG = "tests/e2e/long"
_CLOCKS = "tests/e2e/clocks"
_APART = _DEAD_LETTERS, _SEEN_AND_SAFE, _LONG, _CLOCKS

STAGES = [
    Stage("format", [_BIN / "ruff", "format", "--check", "."]),
    Stage("lint", [_BIN / "ruff", "check", "."]),
    Stage("types", [sys.executable, "-m", "mypy", "."], aside=_ONE_CORE),
    # These share nothing, so both cores work; what follows starts engines.
    _pytest("unit", "tests/unit", "-n", "2"),
    _pytest("ports", "tests/ports", "-n", "2"),
    _pytest("infra", "tests/infra", aside=_ONE_CORE),
    _pytest("model", "tests/model", aside=_ONE_CORE),
    _pytest("flows", "tests/flows", "-n", "2"),
    _pytest("sdks", "tests/sdk", aside=_ONE_CORE),
    # A stack lives as long as its pytest: those of one folder end with its stage.
    _pytest(
        "end to end",
        "tests/e2e",
        *("-m", "not crash_matrix"),
        *(f"--ignore={folder}" for folder in _APART),
        aside="the path",
    ),
    _pytest("crash matrix", "tests/e2e", "-m", "crash_matrix", aside="the crashes"),
    _pytest("seen and safe", _SEEN_AND_SAFE, aside="the crashes"),
    # Its workers wait for leases and graces, and hardly need a core.
    _pytest("long runs", _LONG, aside="the hours"),
    _pytest("dead letters", _DEAD_LETTERS, aside="the hours"),
    _pytest("clocks", _CLOCKS, aside="the hours"),
]


def run(
    stage: Stage, environ: Mapping[str, str], tell: Callable[[str], object]
) -> Result:
    """Run a stage; each line that it prints is told at once."""
    tell(f"\n── {stage.name} ──\n")
    began = time.monotonic()
    counts: Counter[str] = Counter()
    lines = []
    with subprocess.Popen(
        stage.command if stage.is_timed else ["nice", "-n", "5", *stage.command],
        cwd=ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            tell(line)
            if line.startswith(_WORTH_REPEATING):
                lines.append(line.rstrip())
            if _CLOSING_LINE.match(line.rstrip()):
                counts = Counter({w: int(n) for n, w in _COUNT.findall(line)})
    return Result(stage, process.returncode, time.monotonic() - began, counts, lines)


def run_all(stages: list[Stage], environ: Mapping[str, str]) -> list[Result]:
    """Run the stages, those aside in their lanes; return results in their order."""
    kept: dict[str, list[str]] = {s.name: [] for s in stages if s.aside}

    def run_lane(lane: str | None) -> list[Result]:
        own = [stage for stage in stages if stage.aside == lane]
        return [
            run(each, environ, kept[each.name].append if lane else _print)
            for each in own
        ]

    aside = {stage.aside for stage in stages if stage.aside}
    with ThreadPoolExecutor() as threads:
        lanes = [threads.submit(run_lane, lane) for lane in sorted(aside)]
        results = run_lane(None)
        results += [result for lane in lanes for result in lane.result()]
    for lines in kept.values():
        _print("".join(lines))
    return sorted(results, key=lambda result: stages.index(result.stage))


def _print(text: str) -> None:
    print(text, end="", flush=True)


def summary(results: list[Result]) -> str:
    """Return the table, what is worth repeating, and the closing count."""
    rows = []
    total: Counter[str] = Counter()
    for result in results:
        total.update(result.counts)
        verdict = "ok" if result.exit_code == 0 else f"FAILED ({result.exit_code})"
        counts = ", ".join(f"{n} {word}" for word, n in result.counts.items())
        row = f"{result.stage.name:<14}{verdict:<12}{result.seconds:7.1f} s  {counts}"
        rows += [row.rstrip(), *(f"    {line}" for line in result.lines)]
    failed = total["failed"] + total["error"]
    closing = f"{total['passed']} passed, {failed} failed, {total['skipped']} skipped"
    return "\n".join(["", "── summary ──", *rows, "", closing])


def main(arguments: list[str]) -> int:
    """Run all stages, or those named; return 0 when every one passed."""
    parser = argparse.ArgumentParser(prog="python -m local.proofs")
    parser.add_argument("--full", action="store_true", help="heavy proofs in full size")
    names = [stage.name for stage in STAGES]
    parser.add_argument("stages", nargs="*", help=f"of: {', '.join(names)}; all")
    options = parser.parse_args(arguments)
    unknown = set(options.stages) - set(names)
    if unknown:
        parser.error(f"no such stage: {', '.join(sorted(unknown))}")
    environ = dict(os.environ)
    if options.full:
        environ["BELLHOP_PROVE"] = "1"
    wanted = [s for s in STAGES if not options.stages or s.name in options.stages]
    results = run_all(wanted, environ)
    print(summary(results), flush=True)
    return 0 if all(result.exit_code == 0 for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
