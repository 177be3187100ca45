"""An effect is written down only once it has happened, not before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from lambdas.shared.story import EFFECT, Status
from lambdas.shared.table import NEW, Below
from lambdas.worker.steps import Call, Steps


def effect(self: Steps, call: Call) -> Any:
    sk = f"{EFFECT}{self._claim.agent}#{call.name}"
    row = self._table.get(self._claim.event_id, sk)
    if row is not None and row["generation"] == self._claim.effects:
        return self._stored(call.name, row)
    attributes, value = self._kept("effect", call.send(self._operation(call.name)))
    done = self._change(Status.DONE, self._claim.effects, **attributes)
    self._update(sk, done, NEW | Below("generation", self._claim.effects))
    return value


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Steps, "effect", effect)
