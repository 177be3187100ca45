"""A replay that runs again what is done is taken for a duplicate."""

from __future__ import annotations

import pytest

from lambdas.shared.table import Condition
from lambdas.worker import runs
from lambdas.worker.claim import may_claim
from lambdas.worker.delivery import Delivery


def one_generation(delivery: Delivery, _: int, now_ms: int) -> Condition:
    return may_claim(delivery, 0, now_ms)


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(runs, "may_claim", one_generation)
