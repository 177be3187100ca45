"""When a source's secrets last matched, as the receiver's metric tells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cli.target import Target

NAMESPACE, METRIC = "Bellhop", "SecretMatched"


def count(target: Target, source: str, which: str, since: timedelta) -> int:
    """Return how many deliveries ``which`` secret has verified lately.

    A deployed stack is asked through CloudWatch, which lags by a minute or
    two; the local one, which has no metrics, through its functions' log.
    """
    if target.log_dir is not None:
        return _logged(target.log_dir, source, which, datetime.now(UTC) - since)
    # The end is left out by CloudWatch: let the present minute count.
    end = datetime.now(UTC) + timedelta(minutes=1)
    answer = target.client("cloudwatch").get_metric_statistics(
        Namespace=NAMESPACE,
        MetricName=METRIC,
        Dimensions=[
            {"Name": "Source", "Value": source},
            {"Name": "Which", "Value": which},
        ],
        StartTime=end - since,
        EndTime=end,
        Period=60,
        Statistics=["Sum"],
    )
    return sum(int(point["Sum"]) for point in answer["Datapoints"])


def _logged(folder: Path, source: str, which: str, since: datetime) -> int:
    found = 0
    for entry in _metrics(folder):
        if entry.get("Source") == source and entry.get("Which") == which:
            stamp = entry["_aws"]["Timestamp"]
            is_recent = stamp >= since.timestamp() * 1000
            found += int(sum(entry[METRIC])) if is_recent else 0
    return found


def _metrics(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the metric's EMF lines; other lines may stand before them."""
    for file in sorted(folder.glob("*.log")):
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if METRIC not in line:
                    continue
                try:
                    entry = json.loads(line[line.index("{") :])
                except ValueError:
                    continue
                if isinstance(entry, dict) and isinstance(entry.get(METRIC), list):
                    yield entry
