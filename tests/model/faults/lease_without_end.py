"""A lease never ends: Powertools' own fault when no expiry was stored."""

from __future__ import annotations

import pytest

from lambdas.shared.table import Condition
from lambdas.worker import runs
from lambdas.worker.claim import may_claim
from lambdas.worker.delivery import Delivery


def never_due(delivery: Delivery, generation: int, now_ms: int) -> Condition:
    return may_claim(delivery, generation, 0)


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(runs, "may_claim", never_due)
