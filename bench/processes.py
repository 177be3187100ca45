"""Starts the fake AWS and the scripts, and ends what it started."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FLEET = ROOT / "bench/fleet/fleet.toml"

_SETTINGS = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "LEDGER_TABLE": "ledger",
    "PAYLOAD_BUCKET": "payloads",
    "BUS_NAME": "bellhop",
    "PARKED_QUEUE_URL": "http://127.0.0.1/000000000000/parked",
    "QUEUE_URL": "http://127.0.0.1/000000000000/bench",
    "AGENT_NAME": "bench",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True)
class Aws:
    """A running fake AWS."""

    port: int

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def counted(self) -> Any:
        """Return what was counted since the last time, and count anew."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("POST", "/_bench/counted")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()


@contextmanager
def fake_aws(**latency_ms: float) -> Iterator[Aws]:
    """Run a fake AWS of its own, with these latencies by service."""
    command = [sys.executable, "-m", "bench.fake_aws"]
    for service, each in latency_ms.items():
        command += ["--latency", f"{service}={each}"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None  # noqa: S101 - for mypy
        try:
            yield Aws(int(process.stdout.readline()))
        finally:
            process.terminate()


def environ(aws: Aws, asset: Path, **settings: str) -> dict[str, str]:
    """Return a function's environment; its asset comes first on the path."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    path = os.pathsep.join([str(asset), str(ROOT)])
    fleet = {"BELLHOP_FLEET": str(asset / "fleet.toml")}
    endpoint = {"AWS_ENDPOINT_URL": aws.url, "PYTHONPATH": path}
    return {**kept, **_SETTINGS, **fleet, **endpoint, **settings}


class Contestant:
    """A script that is asked again and again; see :mod:`bench.contest`."""

    def __init__(self, module: str, environment: dict[str, str]) -> None:
        """Start ``python -m module``; -P keeps this folder behind the asset."""
        self._module = module
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, line: object) -> Any:
        """Send a line; return the answer.

        Raises:
            RuntimeError: the script ended instead.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None  # noqa: S101 - for mypy
        assert stdout is not None  # noqa: S101 - for mypy
        stdin.write(f"{line}\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            raise RuntimeError(f"{self._module} ended; see above")
        return json.loads(answer)

    def cpu(self, count: int) -> float:
        """Return the CPU milliseconds of one job, the median of ``count``."""
        return float(self.ask(count)["cpu"]) * 1000

    def wall(self, count: int) -> float:
        """Return how many milliseconds one job takes, the median of ``count``."""
        return float(self.ask(count)["wall"]) * 1000

    def close(self) -> None:
        """Let it end."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=10)


@contextmanager
def contestants(
    *modules: str, environment: dict[str, str]
) -> Iterator[list[Contestant]]:
    """Run several, each in a process of its own."""
    started = [Contestant(module, environment) for module in modules]
    try:
        yield started
    finally:
        for each in started:
            each.close()


def cpu_of_process(command: list[str | Path], environment: dict[str, str]) -> float:
    """Return the CPU seconds of a process from its start to its end."""
    output = subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, stdout=output, cwd=ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[-1]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime
