"""What each function and container ships, staged once per synthesis."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import aws_lambda as lambda_

from stacks import packaging
from stacks.fargate.image import stage_image


class Assets:
    """Zips and image; each function gets only the sets of dependencies it needs."""

    def __init__(self, fleet_path: Path) -> None:
        """Ship ``fleet_path`` in every zip, as ``fleet.toml``."""
        self._fleet_path = fleet_path
        self._codes: dict[frozenset[str], lambda_.Code] = {}

    def code(self, *sets: str) -> lambda_.Code:
        """Return our code with ``core`` and these sets of dependencies."""
        key = frozenset({"core", *sets})
        if key not in self._codes:
            folder = packaging.stage(key, self._fleet_path)
            self._codes[key] = lambda_.Code.from_asset(str(folder))
        return self._codes[key]

    def image(self) -> Path:
        """Return the folder that the image of workers that poll is built from."""
        return stage_image(self._fleet_path)
