"""Agents that do nothing, so that only what is around them is measured."""

from __future__ import annotations

from agents import Event, RetryLater, Run


def run(event: Event, run: Run) -> None:
    """Nothing at all."""


def one_step(event: Event, run: Run) -> None:
    """Remember one small result."""
    run.step("classify", lambda: {"label": "bug"})


def one_effect(event: Event, run: Run) -> None:
    """Touch an outside world that is not there."""
    run.effect("comment", lambda *, operation_id: {"id": operation_id})


def fails_once(event: Event, run: Run) -> None:
    """Fail the first attempt, and succeed after it."""
    if run.attempt == 1:
        raise RetryLater("the other side is busy")
