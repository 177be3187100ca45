"""What a look at the agents' files tells, before an event finds it out.

They are read and not run: an agent's imports may be slow, or not installed here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from lambdas.shared.fleet import Agent, Fleet
from lambdas.shared.fleet.problems import did_you_mean
from stacks.packaging import own_agents

_ROOT = Path(__file__).resolve().parent.parent


def faults(fleet: Fleet, fleet_path: Path) -> list[str]:
    """Tell of agents that would be deployed and fail at their first event.

    One sentence each, beginning with the fleet's file and the key. Only code under
    ``agents`` is looked at: what else ``run`` may name comes from a package.
    """
    return [
        f"{fleet_path.name}: agents.{agent.name}.run: {text}"
        for agent in fleet.agents.values()
        for text in _faults(agent, fleet_path)
    ]


def _faults(agent: Agent, fleet_path: Path) -> Iterator[str]:
    module, _, function = agent.run.partition(":")
    if not module.startswith("agents."):
        return
    told = "/".join(module.split(".")) + ".py"
    path = _found(module, fleet_path)
    if path is None:
        yield f"there is no {told}"
        return
    if path.suffix != ".py":
        return  # a folder of modules
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        yield f"{told} is no Python{f', in line {line}' if line else ''}"
        return
    names = _Names()
    names.visit(tree)
    if function in names.coroutines:
        yield f"{told}: {function} is async or a generator; want a plain function"
    elif function not in names.known and not names.is_open:
        near = did_you_mean(function, sorted(names.known))
        yield f"{told} has no {function}{near}"


def _found(module: str, fleet_path: Path) -> Path | None:
    """Return the module's file, or its folder; a fleet's own agents come first."""
    parts = module.split(".")[1:]
    for folder in (own_agents(fleet_path), _ROOT / "agents"):
        if folder is None:
            continue
        path = folder.joinpath(*parts)
        for found in (path.with_suffix(".py"), path / "__init__.py", path):
            if found.exists():
                return found
    return None


class _Names(ast.NodeVisitor):
    """The names that a module has when it is imported, as far as its text says."""

    def __init__(self) -> None:
        self.known: set[str] = set()
        self.coroutines: set[str] = set()
        self.is_open = False  # `import *`, or names that are made as it runs

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Take the name; what is inside is its own."""
        self.known.add(node.name)
        if not node.decorator_list and _yields(node):
            self.coroutines.add(node.name)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Take the name; a decorator may have made a plain function of it."""
        self.known.add(node.name)
        if not node.decorator_list:
            self.coroutines.add(node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Take the name."""
        self.known.add(node.name)

    def visit_Name(self, node: ast.Name) -> None:
        """Take what is assigned to."""
        if isinstance(node.ctx, ast.Store):
            self.known.add(node.id)
        elif node.id in {"globals", "setattr", "exec"}:
            self.is_open = True

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Leave out what is inside."""

    def visit_alias(self, node: ast.alias) -> None:
        """Take what is imported."""
        self.is_open |= node.name == "*"
        self.known.add(node.asname or node.name.partition(".")[0])


def _yields(function: ast.FunctionDef) -> bool:
    """Tell whether the function itself yields, not one inside it."""
    inside: list[ast.AST] = list(function.body)
    while inside:
        node = inside.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
        ):
            inside += ast.iter_child_nodes(node)
    return False
