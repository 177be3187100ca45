"""What each function ships, staged once per synthesis."""

from __future__ import annotations

import functools
from pathlib import Path

from aws_cdk import aws_lambda as lambda_

from stacks import packaging


class Assets:
    """The zips; each function gets only the sets of dependencies it needs."""

    def __init__(self, fleet_path: Path) -> None:
        """Ship ``fleet_path`` in every zip, as ``fleet.toml``."""
        self._fleet_path = fleet_path
        # A staged folder is kept by CDK too, but finding it again costs seconds.
        self.code = functools.cache(self._code)

    def _code(self, *sets: str) -> lambda_.Code:
        """Return our code with ``core`` and these sets of dependencies."""
        return lambda_.Code.from_asset(
            str(packaging.stage(("core", *sets), self._fleet_path))
        )
