"""The metrics that a template's dashboard draws."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.infra.cloudwatch.alarms import Metric
from tests.infra.template import Template

_SEARCH = re.compile(r"SEARCH\('\{(?P<schema>[^}]+)\} MetricName=\"(?P<name>\w+)\"'")


def body_of(template: Template) -> dict[str, Any]:
    """Return the dashboard; references as ``${Id}``."""
    joined = template.only("CloudWatch::Dashboard").of("DashboardBody")
    glue, parts = joined["Fn::Join"]
    text = glue.join(part if isinstance(part, str) else _inside(part) for part in parts)
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def _inside(reference: dict[str, Any]) -> str:
    """Return a reference as text that may stand within a text of JSON."""
    return "${" + json.dumps(reference).replace('"', "'") + "}"


def drawn(template: Template) -> Iterator[Metric]:
    """Yield every metric, and for a search what it looks for, without values."""
    for widget in body_of(template)["widgets"]:
        for entry in widget["properties"].get("metrics", []):
            yield from _metrics(entry)


def _metrics(entry: list[Any]) -> Iterator[Metric]:
    if isinstance(entry[0], dict):
        found = _SEARCH.match(entry[0]["expression"])
        if found is None:
            raise ValueError(f"no search: {entry[0]}")
        namespace, *names = found["schema"].split(",")
        dimensions = tuple(sorted((name, "*") for name in names))
        yield Metric(namespace=namespace, name=found["name"], dimensions=dimensions)
        return
    namespace, name, *rest = [each for each in entry if isinstance(each, str)]
    pairs = tuple(sorted(zip(rest[::2], rest[1::2], strict=True)))
    yield Metric(namespace=namespace, name=name, dimensions=pairs)
