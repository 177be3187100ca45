"""A message is acknowledged although none could be sent that carries its run on."""

from __future__ import annotations

import contextlib

import pytest

from lambdas.shared.errors import BellhopError
from lambdas.worker.claim import Verdict
from lambdas.worker.delivery import Delivery
from lambdas.worker.runner import Runner
from lambdas.worker.runs import RunRow


def acknowledge(self: Runner, delivery: Delivery, _: RunRow) -> Verdict:
    with contextlib.suppress(BellhopError):
        self._ports.send(delivery.continuation())
    return Verdict.SUSPENDED


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Runner, "_carried_on", acknowledge)
