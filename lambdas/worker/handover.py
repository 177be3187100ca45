"""How one attempt of a run hands over to the next, if it must stop before its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lambdas.worker.checkpoints import Checkpoints
from lambdas.worker.ending import HandedOver, Interrupted
from lambdas.worker.host import Host
from lambdas.worker.pace import Pace


class Handover:
    """What the agent was told about going on, and what it has saved."""

    def __init__(
        self,
        host: Host,
        pace: Pace,
        checkpoints: Checkpoints,
        still: Callable[[], object],
    ) -> None:
        """``still`` raises once the attempt may go on no more."""
        self._host = host
        self._pace = pace
        self._checkpoints = checkpoints
        self._still = still
        self._is_asked = False
        self._has_seen_stopping = False
        self._has_saved_since = False

    @property
    def stopping(self) -> bool:
        """Whether the worker was told to stop, as the agent asks."""
        if self._host.stopping:
            self._has_seen_stopping = True
        return self._has_seen_stopping

    def keep_going(self) -> bool:
        """Answer the agent's loop; a no is never taken back.

        Raises whatever ``still`` raises.
        """
        self._still()
        has_time = self._pace.has_time()
        if self._host.stopping or not has_time:
            self._is_asked = True
        return not self._is_asked

    def save(self, state: Any) -> None:
        """See :meth:`Checkpoints.save`."""
        self._checkpoints.save(state)
        self._has_saved_since = self._has_seen_stopping

    def resumed(self) -> Any | None:
        """See :meth:`Checkpoints.resumed`."""
        return self._checkpoints.resumed()

    def refuse_more(self) -> None:
        """Let no code after a loop that ended early go on as if it were done.

        Raises:
            HandedOver: the agent was told to stop.
        """
        if self._is_asked:
            raise HandedOver("the worker stops: a later attempt goes on from here")

    def outcome(self) -> BaseException | None:
        """Return how an attempt ends that was not failed by its agent; None: well.

        An agent that asked ``run.stopping`` itself, and saved and returned then, has
        handed over as well: at worst it is run once more and finds nothing to do.
        """
        if not self._is_asked:
            return HandedOver("the worker stops") if self._has_saved_since else None
        if self._checkpoints.made:
            return HandedOver("the worker stops")
        return Interrupted(
            "run.keep_going() said that this attempt must end, and it has saved"
            " nothing: call run.checkpoint(state) in the loop"
        )
