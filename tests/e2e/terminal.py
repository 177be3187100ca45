"""The command line in this process, at a local stack of the test's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from local.stack import LocalStack


class Terminal:
    """Runs verbs against one stack, and reads the JSON that they print."""

    def __init__(
        self, stack: LocalStack, fleet: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Speak to ``stack``, which was deployed from ``fleet``."""
        monkeypatch.setenv("BELLHOP_LOCAL_FOLDER", str(stack.clock_file.parent))
        monkeypatch.setenv("BELLHOP_FLEET", str(fleet))

    def __call__(self, *words: str) -> Any:
        """Return what ``bellhop`` told, having found nothing wrong."""
        result = CliRunner().invoke(app, [*words, "--local", "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)
