"""Effects on EventBridge: an event put onto a bus.

EventBridge gives every entry a new id and removes no duplicates. An event put
twice therefore carries its operation id in ``detail.bellhop.operation_id``, by
which whoever receives it can tell; a Bellhop agent that hears it does: the event
is accepted under ``aws:<source>:<operation id>``, so the second is the same event.

Rules of the service, from docs.aws.amazon.com/eventbridge: ``PutEvents``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lambdas.shared.adapters import aws
from lambdas.shared.adapters.effects import outcome
from lambdas.shared.effects import repeatable
from lambdas.shared.errors import GiveUp, OutcomeUnknown, RetryLater

DEFAULT_BUS = "default"

# PutEvents: "ThrottlingException", and "InternalFailure" of a single entry.
_PASSING = frozenset({"ThrottlingException"})
_HALF_WAY = frozenset({"InternalFailure", "InternalException"})


@repeatable
def put(
    source: str,
    kind: str,
    detail: Mapping[str, Any],
    *,
    bus: str = DEFAULT_BUS,
    operation_id: str,
) -> dict[str, Any]:
    """Put an event onto ``bus``; return its ``id``, given by EventBridge.

    ``source`` is your own word (``billing``); ``aws.`` and ``bellhop.`` are
    taken. An agent hears it by ``on = [{ pattern = { source = ["billing"] } }]``.
    Sent again after a lost answer, receivers tell by ``detail.bellhop.operation_id``.
    The agent's ``allow`` must grant ``events:PutEvents`` on the bus.
    """
    if source.startswith(("aws.", "bellhop.")):
        raise GiveUp(f"bus.put: source {source!r} is taken", downstream="eventbridge")
    ours = {"operation_id": operation_id}
    entry = {
        "Source": source,
        "DetailType": kind,
        "Detail": json.dumps({**detail, "bellhop": ours}),
        "EventBusName": bus,
    }
    with outcome("eventbridge"):
        answer = aws.client("events").put_events(Entries=[entry])
    (told,) = answer["Entries"]
    if "ErrorCode" in told:
        raise _refusal(told)
    return {"id": told["EventId"]}


def _refusal(told: Mapping[str, Any]) -> RetryLater | GiveUp | OutcomeUnknown:
    name = told["ErrorCode"]
    message = f"eventbridge refused PutEvents: {name}: {told.get('ErrorMessage', '')}"
    if name in _PASSING:
        return RetryLater(message, downstream="eventbridge")
    if name in _HALF_WAY:
        return OutcomeUnknown(message, downstream="eventbridge")
    return GiveUp(message, downstream="eventbridge")
