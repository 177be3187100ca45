"""A worker whose lease is over takes the mark of its successor, and frees it.

It was in the code once; this model found it.
"""

from __future__ import annotations

from typing import Any

import pytest

from lambdas.shared.story import Status
from lambdas.shared.table import Change, Is, Row
from lambdas.worker.claim import StaleClaim
from lambdas.worker.steps import Call, Steps

settle = Steps._settle


def settle_late(self: Steps, sk: str, call: Call, operation: str, row: Row) -> Any:
    try:
        return settle(self, sk, call, operation, row)
    except StaleClaim:
        if call.repeat is not None:
            mine = Change(set={"claim_token": self._claim.token})
            self._update(sk, mine, Is("status", Status.STARTED))
            self._release(sk)
        raise


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Steps, "_settle", settle_late)
