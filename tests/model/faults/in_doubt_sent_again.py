"""An effect in doubt is sent again, whatever it declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lambdas.shared.effects import Repeat, repeat_of
from lambdas.worker import run


def always(effect: Callable[..., Any]) -> Repeat:
    return repeat_of(effect) or Repeat()


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run, "repeat_of", always)
