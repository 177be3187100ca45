"""Every scene there is."""

from __future__ import annotations

from tests.e2e.long import misdeeds, stopping
from tests.e2e.long.scene import scenes_of

CAST = [*scenes_of(stopping), *scenes_of(misdeeds)]
