"""Workers that poll, as real processes: started, asked, paused and killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from local import workers
from local.home import Home, is_alive
from local.stack import LocalStack, wait_for
from tests.e2e.crash.till import Order

_CHILD = "lambdas.worker.polling.child"


def parent_of(pid: int) -> int:
    """Return the parent of a process; 0: there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[1])


def pids() -> Iterator[int]:
    """Yield every process of this machine."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def command_of(pid: int) -> str:
    """Return the words that a process was started with."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def is_in(pid: int, folder: Path) -> bool:
    """Say whether a process has its temporary files there: it is of that crew."""
    try:
        told = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"\0TMPDIR={folder}/".encode() in b"\0" + told


@dataclass(kw_only=True)
class Worker:
    """A running supervisor, and the child that it has at this moment."""

    process: subprocess.Popen[bytes]
    log: Path
    began: int

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def child(self) -> int | None:
        for pid in pids():
            if parent_of(pid) == self.pid and _CHILD in command_of(pid):
                return pid
        return None

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What it and its children have logged, metrics left out."""
        found = []
        for line in self.log.read_bytes()[self.began :].splitlines():
            with contextlib.suppress(ValueError):
                value = json.loads(line)
                if "message" in value:
                    found.append(value)
        return found

    def said(self, message: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["message"] == message]

    def metric(self, name: str) -> float:
        """Sum up a metric of its own."""
        total = 0.0
        for line in self.log.read_bytes()[self.began :].splitlines():
            with contextlib.suppress(ValueError):
                total += sum(json.loads(line).get(name, []))
        return total

    def health(self) -> tuple[int, dict[str, Any]]:
        """Ask its /healthz."""
        url = self.said("worker started")[0]["health"]
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def is_ready(self) -> bool:
        """Whether its child takes work: it polls."""
        started = self.said("worker started")
        return bool(started) and self.health()[1]["state"] != "starting"

    def cpu_seconds(self) -> float:
        """Return what it and its child have used of a processor so far."""
        total = 0
        for pid in (self.pid, self.child):
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            user, system = text.rpartition(")")[2].split()[11:13]
            total += int(user) + int(system)
        return total / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> int:
        """Return the memory that the supervisor holds."""
        text = Path(f"/proc/{self.pid}/statm").read_text(encoding="utf-8")
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024**2

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def ends(self, seconds: float = 180) -> int:
        """Wait for its end; returns its exit code."""
        return self.process.wait(seconds)

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None


@dataclass
class Crew:
    """The workers of one test."""

    home: Home
    stack: LocalStack
    folder: Path
    workers: list[Worker] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.send(signal.SIGCONT)
        workers.end(w.process for w in self.workers if w.is_running)
        for pid in self.left_over():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def start(self, agent: str, **environment: str) -> Worker:
        """Start a worker of ``agent``; it is ready a moment later."""
        found = workers.environment_of(self.home, agent)
        assert found is not None
        # Below the folder that tells them apart, so that a child's own is, too.
        temp = self.folder / "tmp" / "worker"
        temp.mkdir(parents=True, exist_ok=True)
        log = self.folder / f"worker-{len(self.workers)}.log"
        started = workers.start(
            {**found, "TMPDIR": str(temp), **environment}, log, "--health=127.0.0.1:0"
        )
        worker = Worker(process=started, log=log, began=0)
        self.workers.append(worker)
        return worker

    def left_over(self) -> list[int]:
        """Return the processes of this crew that still run, whoever started them."""
        temp = self.folder / "tmp"
        return [pid for pid in pids() if is_in(pid, temp) and is_alive(pid)]


@dataclass(kw_only=True)
class Digging:
    """One order, and what became of it."""

    stack: LocalStack
    order: Order
    agent: str

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        return self.stack.rows(self.order.event_id)

    @property
    def run(self) -> dict[str, Any]:
        return self.rows.get(f"run#{self.agent}", {})

    @property
    def state(self) -> str:
        return str(self.run.get("state", "QUEUED"))

    @property
    def digs(self) -> list[dict[str, Any]]:
        """Every time that one of its steps began: ``number`` and ``at``."""
        return [
            {"number": each["body"]["number"], "at": each["at"]}
            for each in self.stack.effects(f"steps.example/{self.order.id}")
        ]

    @property
    def carts(self) -> Counter[int]:
        """Its effects, by number: how often each happened."""
        found: Counter[int] = Counter()
        for each in self.stack.effects("honours.example/cart"):
            if each["body"]["order"] == self.order.id:
                found[each["body"]["number"]] += each["count"]
        return found

    def waits_for(self, state: str) -> None:
        assert wait_for(lambda: self.state == state), self.run

    def has_begun(self, steps: int = 1) -> None:
        """Wait until so many of its steps have begun."""
        begun = wait_for(lambda: len(self.digs) >= steps, every=0.05)
        assert begun, self.run

    def repeated(self) -> list[int]:
        """Return the steps that began again after they were done."""
        rows = self.rows
        done = {
            number: int(rows[f"step#{self.agent}#dig-{number}"]["finished_at"]) / 1000
            for number in {dig["number"] for dig in self.digs}
            if f"step#{self.agent}#dig-{number}" in rows
        }
        return [
            dig["number"]
            for dig in self.digs
            if dig["at"] > done.get(dig["number"], float("inf"))
        ]
