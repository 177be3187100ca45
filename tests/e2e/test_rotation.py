"""A secret is rotated under traffic on the running stack."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from cli import signers
from cli.main import app
from cli.wire import Wire
from local.demo.story import FLEET
from local.stack import LocalStack

SOURCE = "github"
SENDERS = 2


class Traffic:
    """Senders that go on delivering with whichever secret they have been given."""

    def __init__(self, stack: LocalStack) -> None:
        self._stack = stack
        self._wire = Wire(stack.webhook_url(SOURCE))
        self._is_over = threading.Event()
        self.secret = stack.secret(SOURCE)
        self.answers: Counter[int] = Counter()

    def deliver(self, secret: str | None = None) -> int:
        """Send one delivery and return the status."""
        delivery = signers.compose(
            SOURCE, "ping", secret=secret or self.secret, at=datetime.now(UTC)
        )
        return self._wire.post(delivery).status

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Deliver all the time from several threads."""
        with ThreadPoolExecutor(SENDERS) as pool:
            running = [pool.submit(self._go_on) for _ in range(SENDERS)]
            try:
                yield
            finally:
                self._is_over.set()
            for each in running:
                self.answers.update(each.result())

    def at_least(self, count: int) -> None:
        """Let so many further deliveries pass; the senders do not wait for it."""
        for _ in range(count):
            self.answers[self.deliver()] += 1

    def _go_on(self) -> Counter[int]:
        seen: Counter[int] = Counter()
        while not self._is_over.is_set():
            seen[self.deliver()] += 1
        return seen


@pytest.fixture
def bellhop(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> Iterator[CliRunner]:
    """The command line, pointed at the stack; its clock is given back afterwards."""
    monkeypatch.setenv("BELLHOP_LOCAL_FOLDER", str(stack.clock_file.parent))
    monkeypatch.setenv("BELLHOP_FLEET", str(FLEET))
    runner = CliRunner()
    yield runner
    runner.invoke(app, ["clock", "set", "real", "--local"])


def test_rotation_under_traffic_refuses_no_valid_delivery(
    stack: LocalStack, bellhop: CliRunner
) -> None:
    def run(*words: str, stdin: str = "") -> int:
        return bellhop.invoke(app, [*words, "--local"], input=stdin).exit_code

    traffic = Traffic(stack)
    old, new = traffic.secret, "the-second-secret-of-github"

    with traffic.flowing():
        traffic.at_least(3)
        rotated = run("secret", "rotate", SOURCE, stdin=f"{new}\n")
        traffic.at_least(3)
        a_minute = run("clock", "advance", "61s")  # every receiver looks again
        traffic.at_least(3)
        traffic.secret = new
        traffic.at_least(3)
        hasty = run("secret", "retire", SOURCE)
        retired = run("secret", "retire", SOURCE, "--now")
        traffic.at_least(3)
        another_minute = run("clock", "advance", "61s")
        traffic.at_least(3)
    after = traffic.deliver(old)

    assert (rotated, a_minute, retired, another_minute) == (0, 0, 0, 0)
    assert hasty == 1  # the old one had just been used
    assert set(traffic.answers) == {200}
    assert sum(traffic.answers.values()) >= 18
    assert after == 401
