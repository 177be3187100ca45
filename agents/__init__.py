"""What an agent is written against: the event, its run, and two ways to fail."""

from lambdas.shared.contract import Run
from lambdas.shared.effects import repeatable
from lambdas.shared.errors import GiveUp, OutcomeUnknown, RetryLater
from lambdas.shared.event import Event

__all__ = ["Event", "GiveUp", "OutcomeUnknown", "RetryLater", "Run", "repeatable"]
