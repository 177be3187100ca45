"""The message that carries a run on is sent before the run waits for it."""

from __future__ import annotations

from typing import Any

import pytest

from lambdas.shared.errors import BellhopError
from lambdas.worker.claim import Verdict
from lambdas.worker.runner import Runner
from lambdas.worker.runs import Ended

attempt = Runner._attempt


def send_first(self: Runner, delivery: Any, row: Any, host: Any) -> None:
    try:
        attempt(self, delivery, row, host)
    except Ended as error:
        if type(error.cause).__name__ == "HandedOver":
            try:
                self._ports.send(delivery.continuation())
            except BellhopError as failure:
                raise Ended(failure) from failure
        raise


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Runner, "_attempt", send_first)
    patch.setattr(Runner, "_carried_on", lambda *_: Verdict.SUSPENDED)
