"""Which branches of the senders' modules a run of requests has reached."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import TracebackType
from typing import Any

from coverage import Coverage

RECEIVER = Path(__file__).resolve().parents[3] / "lambdas/receiver"
MODULES = sorted(path for path in RECEIVER.glob("senders/[a-z]*.py"))


class Reached:
    """Looks on while it is entered."""

    def __init__(self) -> None:
        """Look at the senders alone: all else runs at its usual speed."""
        self._coverage = Coverage(
            data_file=None,
            branch=True,
            config_file=False,
            include=[str(m) for m in MODULES],
        )
        self._coverage.set_option("run:disable_warnings", ["already-imported"])

    def __enter__(self) -> None:
        self._coverage.start()
        for path in MODULES:  # what a module does as it is imported counts too
            module = f"lambdas.receiver.senders.{path.stem}"
            importlib.reload(importlib.import_module(module))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._coverage.stop()

    def missing(self, folder: Path) -> tuple[list[str], int]:
        """Return the lines not reached, or not in every way; and how many were."""
        report = folder / "reached.json"
        self._coverage.json_report(outfile=str(report))
        files: dict[str, Any] = json.loads(report.read_text())["files"]
        missing, reached = [], 0
        for name, found in files.items():
            path = Path(name)
            text = path.read_text(encoding="utf-8").splitlines()
            lines, arcs = found["missing_lines"], found["missing_branches"]
            starts = [
                start for start, end in arcs if start not in lines and end not in lines
            ]
            missing += [
                f"{path.stem}: {text[line - 1].strip()}" for line in [*lines, *starts]
            ]
            reached += len(found["executed_lines"]) + len(found["executed_branches"])
        return missing, reached
