"""The message of a dead run is acknowledged instead of bounced into the DLQ."""

from __future__ import annotations

import pytest

from lambdas.worker import claim
from lambdas.worker.claim import Verdict


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claim, "_DONE", claim._DONE | {Verdict.DEAD, Verdict.BOUNCED})
