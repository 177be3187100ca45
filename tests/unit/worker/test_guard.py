"""How Powertools is used: statically, and by what its documentation warns of."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.fakes.worker import Rig

ROOT = Path(__file__).parents[3]
SOURCES = [
    path for folder in ("lambdas", "agents") for path in (ROOT / folder).rglob("*.py")
]


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_idempotent_function_is_used_in_one_place_with_our_layer_only() -> None:
    """Powertools for TypeScript issue 5409: a layer keeps its first configuration."""
    users = {path.name for path in SOURCES if "idempotent_function" in names_in(path)}
    foreign = [p for p in SOURCES if "DynamoDBPersistenceLayer" in names_in(p)]

    assert users == {"runner.py"}
    assert foreign == []


def test_tracer_is_imported_in_one_module_at_most() -> None:
    """Powertools issue 7382: the X-Ray SDK under it is in maintenance."""
    assert len([path for path in SOURCES if "Tracer" in names_in(path)]) <= 1


def test_each_delivery_has_a_layer_and_a_token_of_its_own() -> None:
    tokens = []

    def agent(event: object, run: object) -> None:
        tokens.append(rig.table.rows["github:72d3162e", "run#triage"]["claim_token"])

    rig = Rig(agent)
    rig.deliver("m1")
    rig.deliver("m2", generation=1)

    assert len(set(tokens)) == 2
