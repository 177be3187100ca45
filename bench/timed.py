"""What is timed: each subject by turns with its peer, in fresh processes."""

from __future__ import annotations

import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.findings import Finding, exact_finding, ratio_finding
from bench.made import github_body, github_request
from bench.processes import (
    ROOT,
    Contestant,
    contestants,
    cpu_of_process,
    environ,
    fake_aws,
)
from bench.rounds import Rounds, compare

_PEERS_PYTHON = ROOT / ".venv-bench/bin/python"


def receiver_warm(asset: Path) -> Iterator[Finding]:
    """CPU of an accepted event, observability on, against a bare ``put_item``."""
    scripts = ("bench.receiver.ours", "bench.receiver.bare_boto3")
    with (
        fake_aws() as aws,
        contestants(*scripts, environment=environ(aws, asset)) as (ours, peer),
    ):
        rounds = compare(lambda: ours.cpu(100), lambda: peer.cpu(100), bound=1.35)
    yield ratio_finding(
        "receiver, warm CPU per event vs bare boto3 put_item",
        rounds,
        unit="ms",
        at_most=1.35,
    )


def receiver_start(asset: Path) -> Iterator[Finding]:
    """CPU from the start of a process to its first event's end, likewise."""
    request = github_request(github_body(8 * 1024), "replaced")
    with fake_aws() as aws, tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(request, file)
        file.flush()
        environment = environ(aws, asset)

        def spent(script: str) -> float:
            # Both pay for the interpreter; neither is measured by it.
            scripts = ROOT / "bench/start"
            nothing, whole = (
                cpu_of_process(
                    [sys.executable, "-P", scripts / name, file.name], environment
                )
                for name in ("nothing.py", script)
            )
            return (whole - nothing) * 1000

        rounds = compare(
            lambda: spent("ours.py"), lambda: spent("bare_boto3.py"), bound=1.15
        )
    yield ratio_finding(
        "receiver, start and first event vs bare boto3 client",
        rounds,
        unit="ms",
        at_most=1.15,
    )


def receiver_naive(asset: Path) -> Iterator[Finding]:
    """Latency and CPU behind one server, DynamoDB 5 ms and SQS 8 ms away."""
    with fake_aws(dynamodb=5, sqs=8) as aws:
        environment = environ(aws, asset)
        with (
            _served("bench.naive.ours_app", environment) as ours,
            _served("bench.naive.fastapi_app", environment) as peer,
        ):
            wall = compare(lambda: ours.asked(25), lambda: peer.asked(25), bound=1.0)
            # The first of each warmed it up.
            cpu = Rounds(ours=ours.cpu[1:], peer=peer.cpu[1:])
    yield ratio_finding(
        "receiver, time to answer vs FastAPI + dedup key + SQS",
        wall,
        unit="ms",
        at_most=1.0,
    )
    yield ratio_finding("  the same, CPU per event", cpu, unit="ms", at_most=1.0)


def worker_batch(asset: Path) -> Iterator[Finding]:
    """Messages a second of a batch of ten, each AWS call 5 ms away."""
    scripts = ("bench.worker.ours", "bench.worker.powertools")
    with (
        fake_aws(dynamodb=5) as aws,
        contestants(*scripts, environment=environ(aws, asset)) as (ours, peer),
    ):
        rounds = compare(
            lambda: _per_second(ours, messages=10, batches=7),
            lambda: _per_second(peer, messages=10, batches=3),
            bound=3.5,
        )
    yield ratio_finding(
        "worker, batch of 10 vs Powertools one after another",
        rounds,
        unit="messages/s",
        at_least=3.5,
    )


def relay_batch(asset: Path) -> Iterator[Finding]:
    """Events a second of a batch of a hundred, EventBridge 15 ms away."""
    scripts = ("bench.relay.ours", "bench.relay.one_by_one")
    with (
        fake_aws(events=15) as aws,
        contestants(*scripts, environment=environ(aws, asset)) as (ours, peer),
    ):
        aws.counted()
        ours.ask(1)
        calls = aws.counted()["calls"]
        rounds = compare(
            lambda: _per_second(ours, messages=100, batches=5),
            lambda: _per_second(peer, messages=100, batches=1),
            bound=20,
            most=9,
        )
    yield ratio_finding(
        "relay, events/s vs one by one", rounds, unit="events/s", at_least=20
    )
    each = calls["events.PutEvents"] / 100
    yield exact_finding("relay, AWS calls per event", each, 0.1)


def _per_second(script: Contestant, *, messages: int, batches: int) -> float:
    return messages * 1000 / script.wall(batches)


class _Server:
    """One of the two receivers behind uvicorn, and a client that stays connected."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        self._body = github_body(8 * 1024)
        self._sent = 0
        self.cpu: list[float] = []

    def asked(self, count: int) -> float:
        """Return the median milliseconds of ``count`` deliveries."""
        before, spent = self._get_cpu(), []
        for _ in range(count):
            began = time.perf_counter()
            self._deliver()
            spent.append(time.perf_counter() - began)
        self.cpu.append((self._get_cpu() - before) / count * 1000)
        return statistics.median(spent) * 1000

    def _deliver(self) -> None:
        self._sent += 1
        delivery = f"{os.getpid()}-{id(self)}-{self._sent}"
        headers = github_request(self._body, delivery)["headers"]
        self._connection.request("POST", "/webhooks/github", self._body, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {text!r}")

    def _get_cpu(self) -> float:
        self._connection.request("GET", "/cpu")
        return float(self._connection.getresponse().read())


@contextmanager
def _served(module: str, environment: dict[str, str]) -> Iterator[_Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command: list[str | Path] = [_PEERS_PYTHON, "-P", "-m", "uvicorn", f"{module}:app"]
    command += ["--port", str(port), "--no-access-log", "--log-level", "warning"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    )
    try:
        _await(port, process)
        yield _Server(port)
    finally:
        process.terminate()
        process.wait(timeout=10)


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("uvicorn did not start; see above")
