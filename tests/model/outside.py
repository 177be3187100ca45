"""The other side of the model: it counts what happens, and may honour keys or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Any

from lambdas.shared.effects import repeatable
from lambdas.shared.errors import GiveUp, OutcomeUnknown, RetryLater
from tests.model.process import Call, call
from tests.model.rules import Work

# Longer than a message is hidden after a receive: what comes back earlier, nobody
# could hide for longer.
LONG_SECONDS = 40


class Kind(StrEnum):
    """What the other side does with an operation id that it was sent before."""

    HONOURS = "honours keys"
    IGNORES = "ignores keys"
    #: It ignores them too, but what was done can be looked up.
    SHOWS = "shows what was done"


# (event, effect, generation of the effects)
Told = tuple[str, str, int]


class Outside:
    """Counts effects by what was meant, whatever operation id they came with."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.happened: Counter[Told] = Counter()
        self.operations: set[str] = set()

    def effect(self, work: Work, name: str) -> Callable[..., Any]:
        """Return the function that an agent hands to ``run.effect``."""
        told = (work.letter.event_id, name, work.effects)

        def send(*, operation_id: str) -> dict[str, str]:
            call(
                f"effect {name}",
                lambda: self._happen(told, operation_id),
                {
                    Call.FAIL: RetryLater("not now", after=LONG_SECONDS),
                    Call.GIVE_UP: GiveUp("never"),
                    Call.LOSE: OutcomeUnknown("no answer"),
                },
            )
            return {"told": name}

        def look(*, operation_id: str, since: datetime) -> dict[str, str] | None:
            found = call(
                f"look for {name}",
                lambda: operation_id in self.operations,
                {Call.FAIL: RetryLater("not now"), Call.GIVE_UP: GiveUp("never")},
            )
            return {"told": name} if found else None

        match self.kind:
            case Kind.HONOURS:
                return repeatable(send)
            case Kind.SHOWS:
                return repeatable(look=look)(send)
            case _:
                return send

    def _happen(self, told: Told, operation_id: str) -> None:
        if self.kind is Kind.HONOURS and operation_id in self.operations:
            return
        self.operations.add(operation_id)
        self.happened[told] += 1
