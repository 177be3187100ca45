"""A worker whose run was taken over acknowledges its message."""

from __future__ import annotations

import pytest

from lambdas.worker import claim
from lambdas.worker.claim import Verdict


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claim, "_DONE", claim._DONE | {Verdict.STALE})
