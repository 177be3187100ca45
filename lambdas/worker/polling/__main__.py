"""``python -m lambdas.worker.polling``: a container's command.

Its settings are in the environment, as a function's are
(:class:`lambdas.shared.settings.WorkerSettings`), and in the fleet file.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import threading
from collections.abc import Callable, Sequence

from lambdas.shared import clock
from lambdas.shared.adapters import dynamodb
from lambdas.shared.adapters.ecs import TaskProtection
from lambdas.shared.adapters.healthz import Healthz
from lambdas.shared.adapters.inbox import SqsInbox
from lambdas.shared.fleet import Agent, deployed
from lambdas.shared.settings import WorkerSettings
from lambdas.worker.polling import bounds, signals, telling
from lambdas.worker.polling.happenings import Happening
from lambdas.worker.polling.heartbeat import World
from lambdas.worker.polling.hold import ticking
from lambdas.worker.polling.process import ChildProcess
from lambdas.worker.polling.protection import Protected
from lambdas.worker.polling.pulse import Pulse
from lambdas.worker.polling.supervisor import WAIT_SECONDS, Supervisor

# The container's health check asks there.
ADDRESS = "127.0.0.1:8080"

_MINUTE = 60


def main(arguments: Sequence[str]) -> int:
    """Work until a signal; returns the exit code, see :meth:`Supervisor.run`."""
    options = _options(arguments)
    if options.parent is not None:
        bounds.end_with(options.parent)
    # Before the first thread: each inherits it.
    signals.block()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    settings = WorkerSettings.from_env(os.environ)
    agent = deployed().agents[settings.agent_name]
    stopping = signals.Stopping()
    signals.listen(stopping)
    bounds.adopt_strays()
    inbox = SqsInbox(settings.queue_url)
    pulse = Pulse(agent, clock.now, ticking, wait_seconds=options.wait_seconds)
    health = _health(options.health, pulse)
    _look_every_minute(agent, pulse)
    table = dynamodb.table(settings)
    supervisor = Supervisor(
        agent,
        inbox=inbox,
        world=World(queue=inbox, table=table, clock=clock.now, ticking=ticking),
        stopping=stopping,
        pulse=pulse,
        start=_start,
        chance=random.SystemRandom().uniform,
        protected=_protected(agent),
        wait_seconds=options.wait_seconds,
    )
    telling.started(agent.name, os.getpid(), health=health)
    return supervisor.run()


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lambdas.worker.polling")
    parser.add_argument(
        "--health",
        default=_address(ADDRESS),
        type=_address,
        metavar="HOST:PORT",
        help=f"where /healthz answers (default: {ADDRESS}; port 0: any; off: nowhere)",
    )
    parser.add_argument(
        "--wait-seconds",
        type=int,
        choices=range(WAIT_SECONDS + 1),
        default=WAIT_SECONDS,
        metavar=f"0-{WAIT_SECONDS}",
        help="how long a poll waits for a message, and a stop for the poll",
    )
    parser.add_argument(
        "--parent",
        type=int,
        metavar="PID",
        help="end at once when this process, which has started it, ends",
    )
    return parser.parse_args(arguments)


def _start(tell: Callable[[Happening], None]) -> ChildProcess:
    return ChildProcess(tell, os.environ, adopts=True)


def _address(text: str) -> tuple[str, int] | None:
    """Read ``HOST:PORT``; None: nowhere. No host is not every host."""
    if text == "off":
        return None
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise argparse.ArgumentTypeError(f"want HOST:PORT or off, got {text!r}")
    return host, int(port)


def _health(address: tuple[str, int] | None, pulse: Pulse) -> str | None:
    """Answer at ``address``; ends the process with a sentence where that is taken."""
    if address is None:
        return None

    def health() -> tuple[int, dict[str, object]]:
        report = pulse.report()
        return report.status, report.to_json()

    try:
        return Healthz(address, health).url
    except OSError as error:
        host, port = address
        sys.exit(f"bellhop: --health {host}:{port}: {error.strerror}")


def _look_every_minute(agent: Agent, pulse: Pulse) -> None:
    """Measure and log what is not as it should be; nobody may be asking."""

    def forever() -> None:
        while True:
            pause.wait(_MINUTE)
            report = pulse.report()
            if report.why is not None:
                telling.stuck(agent.name, report.why)
            if report.degraded is not None:
                telling.degraded(agent.name, report.degraded)

    pause = threading.Event()
    threading.Thread(target=forever, name="minute", daemon=True).start()


def _protected(agent: Agent) -> Protected | None:
    protection = TaskProtection.of(os.environ)
    if protection is None:
        return None
    protected = Protected(protection, agent.name, ticking)
    protected.start()
    return protected


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
