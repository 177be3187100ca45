"""What an agent may use of its run: the public contract, beside Event and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol


class Log(Protocol):
    """Writes lines that carry the run's event id, agent and attempt.

    The message is constant, what varies are fields. Bodies and secrets do not
    belong in a log.
    """

    def info(self, message: str, **fields: Any) -> None:
        """Something finished."""
        ...

    def warning(self, message: str, **fields: Any) -> None:
        """Something went wrong that the system will cope with."""
        ...

    def error(self, message: str, **fields: Any) -> None:
        """A human must act."""
        ...


class Run(Protocol):
    """One attempt of an agent at one event, as the agent sees it.

    Names of steps and effects are unique within a run, and the same in every
    attempt: they are how a later attempt finds what an earlier one did. Steps
    may run side by side in threads of the agent's, each under its own name; a
    step inside a step is refused. Results are JSON values, and come back as
    such in the first attempt too (a tuple comes back as a list).

    Work that may outlast an attempt is a loop that saves as it goes::

        state = run.resumed_from or {"next": 0, "found": []}
        while state["next"] < len(pages) and run.keep_going():
            state["found"] += read(pages[state["next"]])
            state["next"] += 1
            run.checkpoint(state)
        run.effect("report", post, state["found"])

    Where the loop ends because :meth:`keep_going` says no, the effect after it is
    not made: the attempt ends there, and another one goes on from the checkpoint.
    """

    @property
    def agent(self) -> str:
        """The agent's name in ``fleet.toml``."""
        ...

    @property
    def attempt(self) -> int:
        """1 for the first attempt at this event, counted on after a redrive."""
        ...

    @property
    def deadline(self) -> datetime:
        """When this attempt must end, timezone-aware; no step starts after it."""
        ...

    @property
    def stopping(self) -> bool:
        """Whether the worker has been told to stop; on Lambda it never is.

        :meth:`keep_going` says so too. An agent that looks here instead, and saves
        a checkpoint and returns then, is continued.
        """
        ...

    @property
    def resumed_from(self) -> Any | None:
        """What the last checkpoint of an earlier attempt saved; None if there is none.

        A fresh copy at each look; what this attempt saves does not change it. A
        replay that runs the event again begins without.

        Raises:
            GiveUp: the state is gone.
        """
        ...

    def checkpoint(self, state: Any) -> None:
        """Save ``state``, a JSON value of at most 5 MiB, in place of the last one.

        Once it returns, no later attempt begins earlier than here.

        Raises:
            GiveUp: the state is not JSON or too large; it was called inside a step,
                or after the run had ended.
        """
        ...

    def keep_going(self) -> bool:
        """Say whether there is time for another round of the agent's loop.

        Call it once a round: it is a sign of life, and learns how long a round
        takes. It says no when the worker stops, or when another round, half as
        long again as the longest so far, would leave no time to save. From then on
        it always says no, :meth:`checkpoint` still saves, and a step or an effect
        ends the attempt, by an exception that no ``except Exception`` catches.

        When the agent returns after a no, the run goes on in another attempt:
        without counting as a failure, if this attempt has saved a checkpoint. If it
        has saved nothing, it has failed (``interrupted``), which costs a receive.
        An agent that returns while the answer is still yes is done.

        Raises:
            GiveUp: it was called inside a step, or the run has worked for longer
                than its agent's ``max_duration_seconds``.
        """
        ...

    @property
    def log(self) -> Log:
        """The run's log."""
        ...

    def step(
        self, name: str, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """Return ``fn(*args, **kwargs)``, or what it returned in an earlier attempt.

        Raises:
            GiveUp: the result is not JSON, or the name was used before.
        """
        ...

    def effect(
        self,
        name: str,
        fn: Callable[..., Any],
        /,
        *args: Any,
        repeatable: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Touch the outside world once, however often the event is delivered.

        ``fn`` is given the keyword ``operation_id``, the same in every attempt.
        It says what became of it::

            it returns           it happened; the result is stored
            RetryLater, GiveUp   it surely did not happen; it may be sent again
            Misconfigured        likewise
            anything else        it may have happened: in doubt

        In doubt it is sent again only if ``repeatable`` says that twice is the
        same as once, or ``fn`` itself says so (:func:`agents.repeatable`).

        Raises:
            InDoubt: it may have happened already, and may not be sent again.
            GiveUp: as for a step.
        """
        ...

    def told(self) -> Mapping[str, Any] | None:
        """Return what a calendar has said of this task since its work began.

        None where nothing has changed; else ``deadline`` (RFC 3339), ``title``,
        ``cancelled`` and ``at``, as they are in this moment: an agent that works
        for long asks again. The title is a stranger's text.

        Raises:
            RetryLater: it could not be read now.
        """
        ...

    def secret(self, name: str) -> str:
        """Return the secret ``name``, which the agent's ``secrets`` must list."""
        ...
