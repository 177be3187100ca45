"""A step is written down before its function has run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lambdas.shared.story import STEP, Status
from lambdas.shared.table import NEW, Below
from lambdas.worker.steps import Steps


def step(self: Steps, name: str, call: Callable[[], Any]) -> Any:
    generation = self._claim.generation
    sk = f"{STEP}{self._claim.agent}#{name}"
    done = self._change(Status.DONE, generation, result="null")
    outcome = self._update(sk, done, NEW | Below("generation", generation))
    return call() if outcome.done else self._stored(name, outcome.row)


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Steps, "step", step)
