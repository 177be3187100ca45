"""Any duplicate may take up a run that is DEAD."""

from __future__ import annotations

import pytest

from lambdas.shared.story import State
from lambdas.shared.table import Below, Condition, Is
from lambdas.worker import runs
from lambdas.worker.claim import may_claim
from lambdas.worker.delivery import Delivery


def anybody(delivery: Delivery, generation: int, now_ms: int) -> Condition:
    reopened = Is("state", State.DEAD) & Below("generation", generation + 1)
    return may_claim(delivery, generation, now_ms) | reopened


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(runs, "may_claim", anybody)
