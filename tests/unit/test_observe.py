"""Metrics: one EMF line each, exactly as Powertools writes it."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools.metrics import MetricUnit, single_metric

from lambdas.shared.observe import NAMESPACE, Unit, count, logger, measure


def _printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(capsys.readouterr().out)
    del line["_aws"]["Timestamp"]
    return line


@pytest.mark.parametrize(
    "dimensions",
    [{}, {"Source": "github"}, {"Source": "github", "Which": "current"}],
    ids=["none", "one", "two"],
)
@pytest.mark.parametrize(
    ("unit", "theirs", "value"),
    [
        (Unit.COUNT, MetricUnit.Count, 3),
        (Unit.SECONDS, MetricUnit.Seconds, 0.25),
        (Unit.MILLISECONDS, MetricUnit.Milliseconds, 1e-9),
    ],
)
def test_a_line_is_the_one_that_powertools_writes(
    unit: Unit,
    theirs: MetricUnit,
    value: float,
    dimensions: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with single_metric(
        name="Things", unit=theirs, value=value, namespace=NAMESPACE
    ) as metric:
        metric.service = ""  # else one more dimension
        for name, text in dimensions.items():
            metric.add_dimension(name=name, value=text)
    wanted = _printed(capsys)

    measure("Things", value, unit, **dimensions)

    line = _printed(capsys)
    (told,) = line["_aws"]["CloudWatchMetrics"]
    told["Dimensions"] = told["Dimensions"][:1]  # theirs has one place alone
    assert line == wanted


def test_a_sample_counts_for_the_part_and_for_the_fleet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Alarms are over the fleet: CloudWatch itself never sums up dimensions."""

    def places(**dimensions: str) -> list[list[str]]:
        count("Things", 1, **dimensions)
        (told,) = _printed(capsys)["_aws"]["CloudWatchMetrics"]
        listed: list[list[str]] = told["Dimensions"]
        return listed

    assert places() == [[]]
    assert places(Agent="a") == [["Agent"], []]
    assert places(Source="s", Reason="r") == [["Source", "Reason"], ["Reason"]]


def test_a_count_adds_one_unless_told(capsys: pytest.CaptureFixture[str]) -> None:
    count("Things")
    assert _printed(capsys)["Things"] == [1.0]
    count("Things", 7)
    assert _printed(capsys)["Things"] == [7.0]


def test_a_line_holds_one_timestamp_in_milliseconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    count("Things")
    told = json.loads(capsys.readouterr().out)["_aws"]["Timestamp"]
    assert isinstance(told, int)
    assert told > 1_700_000_000_000


def test_half_a_surrogate_pair_fails_no_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(logger.registered_handler, "stream", out)

    logger.warning("request refused", why="a stranger's \ud800 and a Größe")

    out.seek(0)
    line = out.read()
    assert "Größe" in line
    assert json.loads(line)["why"] == "a stranger's \ud800 and a Größe"
    assert capsys.readouterr().err == ""


def test_sample_that_nobody_can_read_fails_no_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A pipe that nobody reads, a disk that is full, an agent that closed it."""
    read, write = os.pipe()
    os.close(read)
    closed = (tmp_path / "closed").open("w", encoding="utf-8")
    closed.close()
    with os.fdopen(write, "w", buffering=1, encoding="utf-8") as broken:
        for gone in (broken, closed):
            monkeypatch.setattr("sys.stdout", gone)
            count("RunsStarted", Agent="triage")
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            broken.close()
