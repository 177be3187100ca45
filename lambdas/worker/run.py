"""The run as an agent sees it: names are checked here, rows are kept by the steps."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from lambdas.shared import observe
from lambdas.shared.contract import Log
from lambdas.shared.effects import Repeat, repeat_of, sending
from lambdas.shared.errors import GiveUp, Misconfigured, RetryLater, Unavailable
from lambdas.shared.fleet import Agent
from lambdas.worker.claim import StaleClaim
from lambdas.worker.ending import HandedOver, TooLong
from lambdas.worker.handover import Handover
from lambdas.worker.host import Host
from lambdas.worker.steps import Call, Steps

# Names are sort keys beside the agent's; DynamoDB allows 1,024 bytes in all.
_LONGEST_NAME = 200

# Powertools counts its own frame and ours: the line's location is the agent's.
_CALLER = 3

# Whose step or effect this thread is in the middle of.
_inside: ContextVar[tuple[ThisRun, str] | None] = ContextVar(
    "bellhop_step", default=None
)


class RunLog:
    """A :class:`lambdas.shared.contract.Log` that says whose line it is."""

    def __init__(self, alive: Callable[[], None], **fields: Any) -> None:
        """Add ``fields`` to every line; each is told as a sign of life."""
        self._alive = alive
        self._fields = fields

    def info(self, message: str, **fields: Any) -> None:
        """See the contract."""
        self._alive()
        observe.logger.info(
            message, extra={**fields, **self._fields}, stacklevel=_CALLER
        )

    def warning(self, message: str, **fields: Any) -> None:
        """See the contract."""
        self._alive()
        observe.logger.warning(
            message, extra={**fields, **self._fields}, stacklevel=_CALLER
        )

    def error(self, message: str, **fields: Any) -> None:
        """See the contract."""
        self._alive()
        observe.logger.error(
            message, extra={**fields, **self._fields}, stacklevel=_CALLER
        )


class ThisRun:
    """A :class:`lambdas.shared.contract.Run`: one attempt, until it is closed.

    ``lost`` is set once the claim was found stale, or the run too long; an agent that
    swallows the error must not be taken for one that succeeded.
    """

    def __init__(
        self,
        *,
        agent: Agent,
        attempt: int,
        host: Host,
        deadline: datetime,
        log: Log,
        secret_of: Callable[[str], str],
        steps: Callable[[ThisRun], Steps],
        handover: Handover,
        told: Callable[[], Mapping[str, Any] | None],
    ) -> None:
        """``steps`` makes the keeper of this run's rows; ``told`` reads the news."""
        self.agent = agent.name
        self.attempt = attempt
        self.deadline = deadline
        self.log = log
        self.lost: StaleClaim | TooLong | None = None
        self._host = host
        self._secrets = frozenset(agent.secrets)
        self._secret_of = secret_of
        self._steps = steps(self)
        self._handover = handover
        self._told = told
        self._names: set[str] = set()
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._is_over = False

    @property
    def stopping(self) -> bool:
        """See the contract."""
        return self._handover.stopping

    @property
    def resumed_from(self) -> Any | None:
        """See the contract."""
        with self._watched("resumed_from"):
            return self._handover.resumed()

    def checkpoint(self, state: Any) -> None:
        """See the contract."""
        with self._watched("a checkpoint"):
            self._not_inside("a checkpoint")
            self._handover.save(state)

    def keep_going(self) -> bool:
        """See the contract."""
        with self._watched("keep_going"):
            self._not_inside("keep_going")
            return self._handover.keep_going()

    def outcome(self, error: BaseException | None) -> BaseException | None:
        """Return how the attempt ends whose agent raised ``error``; None: well."""
        if self.lost is not None:
            return self.lost
        if error is None or isinstance(error, HandedOver):
            return self._handover.outcome()
        return error

    def step(
        self, name: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """See the contract."""
        with self._entered(name):
            return self._steps.step(name, lambda: self._called(fn, args, kwargs))

    def effect(
        self,
        name: str,
        fn: Callable[..., Any],
        /,
        *args: Any,
        repeatable: bool = False,
        **kwargs: Any,
    ) -> Any:
        """See the contract."""
        repeat = repeat_of(fn) or (Repeat() if repeatable else None)
        with self._entered(name):
            return self._steps.effect(
                Call(name=name, fn=fn, args=args, kwargs=kwargs, repeat=repeat)
            )

    def told(self) -> Mapping[str, Any] | None:
        """See the contract."""
        try:
            return self._told()
        except Unavailable as error:
            raise RetryLater(str(error), downstream="ledger") from error

    def secret(self, name: str) -> str:
        """See the contract.

        Raises:
            Misconfigured: the agent's ``secrets`` do not list it, or it is unset.
            RetryLater: it could not be fetched now.
        """
        if name not in self._secrets:
            raise Misconfigured(
                f"fleet.toml: agents.{self.agent}.secrets: does not list {name!r}"
            )
        try:
            return self._secret_of(name)
        except Unavailable as error:
            # Inside an effect it tells that nothing was sent.
            raise RetryLater(str(error), downstream="secretsmanager") from error

    def close(self) -> None:
        """Refuse everything from now on: the attempt is over."""
        self._is_over = True

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Let the effect that is called inside use this run's secrets."""
        with self._alone(), sending(self):
            yield

    def _called(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        with self._alone():
            return fn(*args, **kwargs)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let only the run's own process come back, with a result or an error.

        A copy that the agent forked inside would write down the same step as its
        parent, over the same connection.
        """
        try:
            yield
        finally:
            if os.getpid() != self._pid:
                os._exit(1)

    @contextmanager
    def _entered(self, name: str) -> Iterator[None]:
        self._not_inside(repr(name))
        with self._watched(repr(name)):
            self._handover.refuse_more()
            self._take(name)
            token = _inside.set((self, name))
            try:
                yield
            finally:
                _inside.reset(token)

    @contextmanager
    def _watched(self, what: str) -> Iterator[None]:
        """Let ``what`` be asked of a run that is going on, and see if it is lost."""
        if os.getpid() != self._pid:
            raise GiveUp(f"{what} was asked for in another process than the run's")
        if self._is_over:
            raise GiveUp(f"{what} was asked for after its run had ended")
        self._host.alive()
        try:
            yield
        except (StaleClaim, TooLong) as error:
            self.lost = error
            raise

    def _not_inside(self, what: str) -> None:
        outer = _inside.get()
        if outer is not None and outer[0] is self:
            raise GiveUp(
                f"{what} was asked for inside {outer[1]!r}: what makes up a run does"
                " not nest; call it after that"
            )

    def _take(self, name: Any) -> None:
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
            raise GiveUp(f"a name of 1 to {_LONGEST_NAME} characters, not {name!r:.80}")
        if not name.isprintable():
            raise GiveUp(f"a name on one line, without control characters: {name!r}")
        with self._lock:
            if name in self._names:
                raise GiveUp(
                    f"{name!r} was used before in this run: names are how a later"
                    " attempt finds what was done, so each is used once"
                )
            self._names.add(name)
