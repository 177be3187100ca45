"""A redrive before the time of the retry is taken for a duplicate, and is lost.

It was in the code once, and excused in docs/reference/guarantees.md.
"""

from __future__ import annotations

import pytest

from lambdas.worker import claim


def plant(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claim, "_is_redrive", lambda *_: False)
