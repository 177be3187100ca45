"""What the receiver writes to its log, read back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from lambdas.shared.observe import logger

Told = Callable[[], list[dict[str, Any]]]


class Stdout:
    """The standard output of this very moment; pytest changes it between phases."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Told:
    """Return a function that returns the log lines and metrics written so far."""
    # The logger keeps the stream that stood there when it was imported.
    monkeypatch.setattr(logger.registered_handler, "stream", Stdout())
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def metrics(lines: list[dict[str, Any]]) -> list[tuple[str, dict[str, str], Any]]:
    """Return each metric with exactly its dimensions and its values."""
    found = []
    for line in lines:
        if "_aws" not in line:
            continue
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        assert directive["Namespace"] == "Bellhop"
        (names, *_), (metric,) = directive["Dimensions"], directive["Metrics"]
        dimensions = {name: line[name] for name in names}
        found.append((metric["Name"], dimensions, line[metric["Name"]]))
    return found
