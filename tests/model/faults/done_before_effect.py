"""An effect is written down as done before it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from lambdas.worker.steps import Call, Steps


def send(self: Steps, sk: str, call: Call, operation: str, *, is_fresh: bool) -> Any:
    self._close(sk, result="null")
    return call.send(operation)


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Steps, "_send", send)
