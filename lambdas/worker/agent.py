"""Finds the user's function, and calls it."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from lambdas.shared.contract import Run
from lambdas.shared.errors import GiveUp, Misconfigured
from lambdas.shared.event import Event

Function = Callable[[Event, Run], Any]


@functools.cache
def load(module: str, function: str) -> Function:
    """Return the agent's function; a failed load is tried again at the next run.

    Raises:
        Misconfigured: the module does not import, or holds no such function.
    """
    try:
        found = getattr(importlib.import_module(module), function)
    except BaseException as error:
        why = f"{type(error).__name__}: {error}"
        raise Misconfigured(f"{module}:{function} cannot be loaded: {why}") from error
    if not callable(found):
        raise Misconfigured(f"{module}:{function} is a {type(found).__name__}")
    return found  # type: ignore[no-any-return]


def call(function: Function, event: Event, run: Run) -> None:
    """Run the agent to its end; what it returns is nobody's.

    Raises:
        GiveUp: it is a coroutine or a generator, of which nothing would run.
    """
    result = function(event, run)
    if inspect.iscoroutine(result) or inspect.isgenerator(result):
        result.close()
        kind = "async" if inspect.iscoroutine(result) else "a generator"
        raise GiveUp(f"the agent's function is {kind}: want a plain function")
