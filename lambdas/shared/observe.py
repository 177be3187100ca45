"""Logs by Powertools, structured lines; metrics as EMF lines (no API call per event).

A log message is constant and in lower case, everything else is a field:
``info`` says that something finished, ``warning`` that the system will cope,
``error`` that a human must act. Bodies and secrets are never logged.
"""

from __future__ import annotations

import contextlib
import json
import sys
from enum import StrEnum
from typing import Any

from aws_lambda_powertools import Logger

from lambdas.shared import clock

NAMESPACE = "Bellhop"


def _line(record: Any) -> str:
    """Return a log line; half a surrogate pair of a stranger's is written out.

    It would fail the line, and be printed with its neighbours in a stack trace.
    """
    line = json.dumps(record, default=str, separators=(",", ":"), ensure_ascii=False)
    return line.encode("utf-8", "backslashreplace").decode()


logger = Logger(service="bellhop", json_serializer=_line)


class Unit(StrEnum):
    """What a metric is counted in, in CloudWatch's words."""

    COUNT = "Count"
    MILLISECONDS = "Milliseconds"
    SECONDS = "Seconds"


def count(name: str, value: int = 1, **dimensions: str) -> None:
    """Add ``value`` to the metric ``name``; see :func:`measure`."""
    measure(name, value, Unit.COUNT, **dimensions)


def measure(name: str, value: float, unit: Unit, **dimensions: str) -> None:
    """Record one sample of the metric ``name`` in one or two places.

    Under these dimensions, and without the first of them: that one names a part
    of the fleet (a source, an agent, a schedule), and alarms are over the fleet.
    """
    names = list(dimensions)
    line = {
        "_aws": {
            "Timestamp": clock.milliseconds(clock.now()),
            "CloudWatchMetrics": [
                {
                    "Namespace": NAMESPACE,
                    "Dimensions": [names, names[1:]] if names else [[]],
                    "Metrics": [{"Name": name, "Unit": unit}],
                }
            ],
        },
        **dimensions,
        name: [float(value)],
    }
    # Nobody may read any more (a pipe that was closed, a disk that is full, an agent
    # that closed it): a metric that is lost must not fail the work that it is of.
    # The lines of the log are dropped by logging itself then.
    with contextlib.suppress(OSError, ValueError):
        # Whole lines: the records of a batch speak from threads.
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
