"""When a source's secrets last matched, as the receiver's metric tells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from cli.target import Target
from lambdas.shared import clock

NAMESPACE, METRIC = "Bellhop", "SecretMatched"


def count(target: Target, source: str, which: str, since: timedelta) -> int:
    """Return how many deliveries ``which`` secret has verified lately.

    In real time, whatever the local clock says: metrics do not follow it. A
    deployed stack is asked through CloudWatch, which lags by a minute or
    two; the local one, which has no metrics, through the receiver's log.
    """
    if target.is_local:
        return _logged(target, source, which, datetime.now(UTC) - since)
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


def _logged(target: Target, source: str, which: str, since: datetime) -> int:
    found = 0
    for entry in _metrics(target.client("logs"), clock.milliseconds(since)):
        if entry.get("Source") == source and entry.get("Which") == which:
            found += int(sum(entry[METRIC]))
    return found


def _metrics(logs: Any, since_ms: int) -> Iterator[dict[str, Any]]:
    """Yield the metric as the receiver wrote it down (EMF) from then on."""
    groups = logs.get_paginator("describe_log_groups").paginate()
    names = [group["logGroupName"] for page in groups for group in page["logGroups"]]
    lines = logs.get_paginator("filter_log_events")
    for name in names:
        if "Receiver" not in name:
            continue
        for page in lines.paginate(logGroupName=name, startTime=since_ms):
            for line in page["events"]:
                if METRIC in line["message"]:
                    yield json.loads(line["message"])
