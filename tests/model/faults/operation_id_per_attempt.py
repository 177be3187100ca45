"""An operation id is new in every attempt, so that no other side can know it."""

from __future__ import annotations

import pytest

from lambdas.worker.steps import Steps

operation = Steps._operation


def per_attempt(self: Steps, name: str) -> str:
    return f"{operation(self, name)}{self._claim.attempt}"


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Steps, "_operation", per_attempt)
