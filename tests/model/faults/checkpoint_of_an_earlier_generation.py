"""A replay for fresh effects goes on from where the run before it was."""

from __future__ import annotations

import pytest

from lambdas.shared.table import Change
from lambdas.worker.checkpoints import Checkpoints


def whoever_saved(self: Checkpoints) -> str | None:
    change = Change(set={"held_by": self._claim.attempt})
    return self._write_row(change).row.get("state")


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Checkpoints, "_take_over", whoever_saved)
