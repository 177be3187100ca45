"""Where a runner lives: how long it may go on, and who is told of its doings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from lambdas.worker.claim import Claim


class TimeLeft(Protocol):
    """Tells how long this worker may go on; a Lambda context is one."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the worker is ended."""
        ...


class Host(TimeLeft, Protocol):
    """The process around a runner, for one delivery.

    Its methods are called from the agent's threads, and must not raise.
    """

    @property
    def stopping(self) -> bool:
        """Whether the worker was told to stop; once true it stays so."""
        ...

    @property
    def invocation(self) -> Mapping[str, str] | None:
        """Where a log speaks of this attempt: ``id`` and ``log_group``, if anywhere."""
        ...

    def claimed(self, claim: Claim) -> None:
        """The run is claimed; whoever extends its row extends ``claim.lease`` too."""
        ...

    def alive(self) -> None:
        """The agent gave a sign of life: a step, an effect, a checkpoint, a line."""
        ...


class LambdaHost:
    """A Lambda invocation: nobody tells it to stop, and nobody watches over it.

    Its time ends before its lease could be renewed to any use.
    """

    stopping = False

    def __init__(self, context: TimeLeft) -> None:
        """Answer out of Lambda's ``context``."""
        self._context = context

    def get_remaining_time_in_millis(self) -> int:
        """See Host."""
        return self._context.get_remaining_time_in_millis()

    @property
    def invocation(self) -> Mapping[str, str] | None:
        """See Host."""
        request_id = getattr(self._context, "aws_request_id", None)
        log_group = getattr(self._context, "log_group_name", None)
        if not isinstance(request_id, str) or not isinstance(log_group, str):
            return None
        return {"id": request_id, "log_group": log_group}

    def claimed(self, claim: Claim) -> None:
        """See Host."""

    def alive(self) -> None:
        """See Host."""
