"""Code after a loop that was ended early goes on as if the loop were done."""

from __future__ import annotations

import pytest

from lambdas.worker.handover import Handover


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Handover, "refuse_more", lambda _: None)
    patch.setattr(Handover, "outcome", lambda _: None)
