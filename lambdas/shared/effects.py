"""What an effect and the worker tell each other.

An effect is a function that takes the keyword ``operation_id``. Its outcome::

    it returns                 it happened; the result is stored
    RetryLater, GiveUp,        it surely did not happen; the mark is taken back
    Misconfigured
    anything else, a crash     in doubt: it may have happened

The decorator :func:`repeatable` says what a later attempt may do about an
effect in doubt. Without it (and without ``repeatable=True`` at the call) the
run becomes a dead letter that names the doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar, overload

from lambdas.shared.errors import Misconfigured

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__bellhop_repeat__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """How an effect in doubt may be settled by a later attempt.

    ``look(*args, operation_id=..., since=..., **kwargs)`` is called with the
    arguments of the effect and the time at which it was first started. What it
    returns is the effect's result: it happened, and is not sent again. ``None``
    says that it did not happen: it is sent again. ``OutcomeUnknown`` says that
    looking cannot tell: the effect stays in doubt and the run is DEAD.

    ``within`` is how long the other side remembers an operation id, counted
    from the first start; past it, the effect may not be sent again.
    """

    look: Callable[..., Any] | None = None
    within: timedelta | None = None


@overload
def repeatable(effect: F, /) -> F: ...
@overload
def repeatable(
    *, look: Callable[..., Any] | None = None, within: timedelta | None = None
) -> Callable[[F], F]: ...
def repeatable(
    effect: F | None = None,
    /,
    *,
    look: Callable[..., Any] | None = None,
    within: timedelta | None = None,
) -> F | Callable[[F], F]:
    """Declare that an effect in doubt may be sent again.

    Bare, the other side itself drops a second request with the same operation
    id (or the same request twice is the same as once). See :class:`Repeat`.
    """

    def mark(function: F) -> F:
        setattr(function, _MARK, Repeat(look=look, within=within))
        return function

    return mark if effect is None else mark(effect)


def repeat_of(effect: Callable[..., Any]) -> Repeat | None:
    """Return what ``effect`` declares, or None: it must not be sent again."""
    declared = getattr(effect, _MARK, None)
    return declared if isinstance(declared, Repeat) else None


class Sender(Protocol):
    """The part of a run that an effect may use: its secrets and its deadline."""

    @property
    def deadline(self) -> datetime:
        """When the run ends, timezone-aware."""
        ...

    def secret(self, name: str) -> str:
        """Return the value of a secret that the agent's table names."""
        ...


_current: ContextVar[Sender | None] = ContextVar("bellhop_run", default=None)


@contextmanager
def sending(run: Sender) -> Iterator[None]:
    """Let the effects called in this block use the secrets of ``run``.

    Entered around each single call of an effect or its ``look``, in the thread
    that makes it, so that a thread pool inside an agent needs no care.
    """
    token = _current.set(run)
    try:
        yield
    finally:
        _current.reset(token)


def current_run() -> Sender:
    """Return the run whose effect is being sent.

    Raises:
        Misconfigured: a ready-made effect was called by itself.
    """
    run = _current.get()
    if run is None:
        raise Misconfigured(
            "a ready-made effect needs its run: run.effect(NAME, EFFECT, ...)"
        )
    return run
