"""A checkpoint is written whatever attempt has gone on meanwhile."""

from __future__ import annotations

import pytest

from lambdas.shared.table import NEW, Below
from lambdas.worker.checkpoints import Checkpoints

ANYBODY = property(lambda _: NEW | Below("held_by", 1_000_000))


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Checkpoints, "_not_overtaken", ANYBODY)
