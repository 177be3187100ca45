"""One stack on which everything is done that a metric tells of."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from local import up
from local.demo.story import FLEET as DEMO
from local.home import Home
from local.stack import LocalStack
from tests.infra.cloudwatch.alarms import Metric

HERE = Path(__file__).parent
# Everything that is deployed speaks to this address in the digest.
SLACK = "https://hooks.slack.com/services/T0/B0/made-up"


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's fleet and agents, with more of both."""
    folder = tmp_path_factory.mktemp("fleet")
    shutil.copytree(DEMO.parent / "agents", folder / "agents")
    shutil.copytree(HERE / "agents", folder / "agents", dirs_exist_ok=True)
    more = (HERE / "fleet_more.toml").read_text(encoding="utf-8")
    path = folder / "fleet.toml"
    path.write_text(DEMO.read_text(encoding="utf-8") + more, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("seen") / "local")


@pytest.fixture(scope="session")
def seen(home: Home, fleet: Path) -> Iterator[LocalStack]:
    """The fleet, running."""
    with up.running(home, fleet=fleet) as running:
        running.client("secretsmanager").put_secret_value(
            SecretId="bellhop/digest", SecretString=SLACK
        )
        yield running


@dataclass
class Logs:
    """What every function has written, as CloudWatch Logs holds it."""

    stack: LocalStack
    lines: list[str] = field(default_factory=list)

    def read(self) -> list[str]:
        """Return every line of every log group."""
        logs = self.stack.client("logs")
        found = []
        for page in logs.get_paginator("describe_log_groups").paginate():
            for group in page["logGroups"]:
                pages = logs.get_paginator("filter_log_events").paginate(
                    logGroupName=group["logGroupName"]
                )
                found += [e["message"] for p in pages for e in p["events"]]
        self.lines = found
        return found

    def metrics(self) -> set[Metric]:
        """Return every metric that was emitted, each under each of its dimensions."""
        return {
            Metric(
                namespace=told["Namespace"],
                name=metric["Name"],
                dimensions=tuple(sorted((name, line[name]) for name in names)),
            )
            for line in map(_read, self.read())
            for told in line.get("_aws", {}).get("CloudWatchMetrics", [])
            for metric in told["Metrics"]
            for names in told["Dimensions"]
        }


def _read(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@pytest.fixture(scope="session")
def logs(seen: LocalStack) -> Logs:
    return Logs(seen)
