"""Signers know nothing of verifiers: what both shared would be wrong on both sides."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import cli

SIGNING = sorted(
    path
    for folder in ("signers", "samples")
    for path in (Path(cli.__path__[0]) / folder).glob("*.py")
)


@pytest.mark.parametrize("path", SIGNING, ids=lambda path: path.stem)
def test_signer_imports_nothing_of_the_functions(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }

    assert not [name for name in imported if name.split(".")[0] == "lambdas"]
