"""Agents that do as little as a test needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from lambdas.shared.event import Event


def nothing(event: Event, run: Any) -> None:
    """Return at once."""


def raising(error: BaseException) -> Callable[[Event, Any], NoReturn]:
    def agent(event: Event, run: Any) -> NoReturn:
        raise error

    return agent
