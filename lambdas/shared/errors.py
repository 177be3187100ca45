"""Every error that Bellhop raises, by who has to act.

::

    BellhopError
    ├── Rejected       the sender: this request is not acceptable (a 4xx)
    ├── Misconfigured  the operator: a secret, a grant or the fleet is wrong (a 5xx)
    ├── Unavailable    nobody yet: a service did not answer, the call may succeed later
    ├── RetryLater     nobody yet: the same run may succeed on a later delivery
    ├── GiveUp         the agent's author: no later delivery of this run can succeed
    ├── OutcomeUnknown nobody yet: an effect was sent and its outcome was not told
    └── InDoubt        the operator: nobody recorded whether an effect happened
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

# A message can stay hidden for 12 hours at most (SQS ChangeMessageVisibility),
# counted from its first receive; an hour is left for the run itself.
LONGEST_WAIT = timedelta(hours=11)


class BellhopError(Exception):
    """The root; never raised itself."""


class Code(StrEnum):
    """Why a request was refused: the ``error`` of the answer's body."""

    UNKNOWN_SOURCE = "unknown_source"
    NOT_ALLOWED_IP = "not_allowed_ip"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    MALFORMED = "malformed"
    STALE = "stale"
    BAD_SIGNATURE = "bad_signature"
    NO_DELIVERY_ID = "no_delivery_id"
    BODY_TOO_LARGE = "body_too_large"


class Rejected(BellhopError):
    """The sender must change the request; it is answered with a 4xx and not stored.

    ``code`` is all that the sender is told. The message says what exactly
    failed and goes to the log only, so that a forger learns nothing.
    """

    def __init__(self, code: Code, why: str) -> None:
        """Refuse with ``code``; ``why`` is for the operator's log."""
        super().__init__(why)
        self.code = code


class Misconfigured(BellhopError):
    """The operator must change something of ours; a sender is answered with a 5xx."""


class Unavailable(BellhopError):
    """A service that we need did not answer; the same call may succeed later.

    ``after`` is how long the service asked to be left alone, if it did.
    """

    def __init__(self, message: str, *, after: timedelta | None = None) -> None:
        """Say what did not answer."""
        super().__init__(message)
        self.after = after


class RetryLater(BellhopError):
    """The same run may succeed on a later delivery.

    ``after`` is how long to wait before it, at most 11 hours (a longer wait
    is a one-off schedule); without it the agent's back-off decides.
    ``downstream`` names the other side that failed, for the digest.

    Raises:
        ValueError: ``after`` is negative or longer than 11 hours.
    """

    def __init__(
        self,
        message: str,
        *,
        after: timedelta | float | None = None,
        downstream: str | None = None,
    ) -> None:
        """Ask for a later attempt; a bare number for ``after`` counts seconds."""
        super().__init__(message)
        if after is not None and not isinstance(after, timedelta):
            after = timedelta(seconds=after)
        if after is not None and not timedelta(0) <= after <= LONGEST_WAIT:
            raise ValueError(
                f"RetryLater(after=...): want 0 to 11 hours, got {after};"
                " use a one-off schedule for longer waits"
            )
        self.after = after
        self.downstream = downstream


class GiveUp(BellhopError):
    """No later delivery of this run can succeed; it becomes a dead letter at once."""

    def __init__(self, message: str, *, downstream: str | None = None) -> None:
        """Give up; ``downstream`` names the other side that refused."""
        super().__init__(message)
        self.downstream = downstream


class OutcomeUnknown(BellhopError):
    """An effect was sent, and whether it happened was not told.

    The connection broke or timed out after the request had left, or the other
    side answered that it failed half-way. Raised by an effect, it leaves the
    effect in doubt, where ``RetryLater`` and ``GiveUp`` say that it surely did
    not happen. ``after`` and ``downstream`` as in :class:`RetryLater`.
    """

    def __init__(
        self,
        message: str,
        *,
        after: timedelta | None = None,
        downstream: str | None = None,
    ) -> None:
        """Leave the effect in doubt; ``after`` is what the other side asked for."""
        super().__init__(message)
        self.after = after
        self.downstream = downstream


class InDoubt(BellhopError):
    """An effect was started and nobody recorded its outcome.

    Only an operator who looks at the other side can settle it, with
    ``bellhop resolve EVENT EFFECT --happened|--not-happened``.
    """

    def __init__(self, message: str, *, effect: str) -> None:
        """Stop the run; ``effect`` is the name the agent gave it."""
        super().__init__(message)
        self.effect = effect
