"""A run is handed over that has saved nothing, and may go on so for ever."""

from __future__ import annotations

import pytest

from lambdas.worker.ending import HandedOver
from lambdas.worker.handover import Handover


def always(self: Handover) -> BaseException | None:
    return HandedOver("as if it had saved") if self._is_asked else None


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Handover, "outcome", always)
