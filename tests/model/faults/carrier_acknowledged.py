"""The carrier of a run in progress is taken for a duplicate."""

from __future__ import annotations

import pytest

from lambdas.worker import claim
from lambdas.worker.claim import Verdict


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claim, "_DONE", claim._DONE | {Verdict.WAITING})
