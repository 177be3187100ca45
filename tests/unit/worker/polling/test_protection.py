"""Scale-in protection: on while it works, renewed, and off when it is idle."""

from __future__ import annotations

import pytest

from lambdas.shared.errors import Unavailable
from lambdas.worker.polling.protection import PROTECTED_MINUTES, Protected


class FakeProtection:
    """A :class:`lambdas.worker.polling.protection.Protection` that remembers."""

    def __init__(self) -> None:
        self.set_to: list[int | None] = []
        self.failures: list[Unavailable] = []

    def set(self, minutes: int | None) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.set_to.append(minutes)


class Task:
    def __init__(self) -> None:
        self.now = 0.0
        self.ecs = FakeProtection()
        self.protected = Protected(self.ecs, "triage", lambda: self.now)

    def passes(self, seconds: float) -> list[int | None]:
        """Let time pass, each turn at its time; returns what was set meanwhile."""
        before, ends = len(self.ecs.set_to), self.now + seconds
        while self.protected.due <= ends:
            self.now = max(self.now, self.protected.due)
            self.protected.turn()
        self.now = ends
        return self.ecs.set_to[before:]


@pytest.fixture
def task() -> Task:
    return Task()


def test_task_is_protected_while_a_run_is_going_and_not_after(task: Task) -> None:
    assert task.passes(100) == []
    task.protected.want(True)
    assert task.passes(5) == [PROTECTED_MINUTES]

    task.protected.want(False)

    assert task.passes(3600) == [None]


def test_protection_of_a_long_run_is_renewed_before_it_ends(task: Task) -> None:
    task.protected.want(True)

    times = len(task.passes(5 * 3600))

    assert times == 1 + 15
    assert 5 * 3600 / (times - 1) < PROTECTED_MINUTES * 60 / 2


def test_runs_that_follow_on_each_other_ask_once(task: Task) -> None:
    for _ in range(20):
        task.protected.want(True)
        task.passes(10)

    assert task.ecs.set_to == [PROTECTED_MINUTES]


def test_what_ecs_does_not_set_is_asked_for_again(
    task: Task, caplog: pytest.LogCaptureFixture
) -> None:
    task.ecs.failures = [Unavailable("throttled"), Unavailable("throttled")]
    task.protected.want(True)

    assert task.passes(15) == []
    assert task.passes(10) == [PROTECTED_MINUTES]
    assert [each.message for each in caplog.records] == ["task protection not set"] * 2


def test_wish_that_changes_meanwhile_is_not_forgotten(task: Task) -> None:
    task.protected.want(True)
    task.protected.want(False)

    assert task.passes(1) == [None]
