"""An event that is published again after its run died is taken for a redrive.

It was in the code once; the crash matrix found it: two dead letters of one event.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from lambdas.shared.table import Condition
from lambdas.worker import runs
from lambdas.worker.claim import may_claim
from lambdas.worker.delivery import Delivery


def by_time_alone(delivery: Delivery, generation: int, now_ms: int) -> Condition:
    return may_claim(replace(delivery, envelope_id=""), generation, now_ms)


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(runs, "may_claim", by_time_alone)
