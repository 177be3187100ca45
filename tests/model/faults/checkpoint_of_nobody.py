"""An attempt that found no checkpoint does not keep an earlier one from writing it."""

from __future__ import annotations

import pytest

from lambdas.worker.checkpoints import Checkpoints

take_over = Checkpoints._take_over


def if_there(self: Checkpoints) -> str | None:
    if self._table.get(self._claim.event_id, self._sk) is None:
        return None
    return take_over(self)


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Checkpoints, "_take_over", if_there)
