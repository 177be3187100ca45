"""Logs and metrics, by Powertools: structured lines, and EMF (no API call per event).

A log message is constant and in lower case, everything else is a field:
``info`` says that something finished, ``warning`` that the system will cope,
``error`` that a human must act. Bodies and secrets are never logged.
"""

from __future__ import annotations

import threading

from aws_lambda_powertools import Logger
from aws_lambda_powertools.metrics import MetricUnit, single_metric

NAMESPACE = "Bellhop"

logger = Logger(service="bellhop")
_speaking = threading.Lock()


def count(name: str, value: int = 1, **dimensions: str) -> None:
    """Add ``value`` to the metric ``name`` under exactly these dimensions."""
    _emit(name, value, MetricUnit.Count, dimensions)


def measure(name: str, value: float, unit: MetricUnit, **dimensions: str) -> None:
    """Record one sample of the metric ``name`` under exactly these dimensions."""
    _emit(name, value, unit, dimensions)


def _emit(
    name: str, value: float, unit: MetricUnit, dimensions: dict[str, str]
) -> None:
    # One line at a time: the records of a batch speak from threads.
    with (
        _speaking,
        single_metric(name=name, unit=unit, value=value, namespace=NAMESPACE) as metric,
    ):
        # Powertools would add POWERTOOLS_SERVICE_NAME as one more dimension.
        metric.service = ""
        for key, text in dimensions.items():
            metric.add_dimension(name=key, value=text)
