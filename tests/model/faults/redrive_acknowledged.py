"""A redrive is taken for a duplicate of the run that is dead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lambdas.shared.table import Condition
from lambdas.worker import runs
from lambdas.worker.claim import may_claim
from lambdas.worker.delivery import Delivery


def no_redrive(delivery: Delivery, generation: int, now_ms: int) -> Condition:
    return may_claim(replace(delivery, sent_ms=0), generation, now_ms)


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(runs, "may_claim", no_redrive)
