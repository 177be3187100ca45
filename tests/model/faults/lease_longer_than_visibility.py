"""A lease outlasts the time for which its message is hidden."""

from __future__ import annotations

import pytest

from lambdas.shared.table import Outcome
from lambdas.worker.runs import RunRow

claim = RunRow._claim


def claim_longer(
    self: RunRow, generation: int, now_ms: int, lease_ends_ms: int
) -> Outcome:
    return claim(self, generation, now_ms, lease_ends_ms + 60_000)


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RunRow, "_claim", claim_longer)
