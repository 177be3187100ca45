"""Reads the imports of the source, and says which of them point the wrong way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SHARED = "lambdas.shared"

# Who may talk to AWS: adapters, and what runs on a person's machine.
_MAY_IMPORT_BOTO = (
    "lambdas.shared.adapters",
    "agents.effects.ses",
    "agents.effects.bus",
    "local",
    "cli",
    "bench",
    "tests",
)

# Who may speak to the outside world from AWS: it is pinned and bounded there.
_WAYS_OUT = (
    *("http", "socket", "ssl", "urllib.request", "urllib3", "requests", "httpx"),
    # Google's library has transports of its own.
    "google",
)
_MAY_GO_OUT = "lambdas.shared.adapters"

_PEOPLE_TOOLS = ("stacks", "cli", "local", "tests", "bench", "app")

_CLOCK = "lambdas.shared.clock"
_TIME_CALLS = {
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    ("time", "time"),
    ("time", "time_ns"),
}

JUNK_DRAWERS = {"utils", "util", "helpers", "helper", "common", "constants", "manager"}


@dataclass(frozen=True)
class Module:
    """One source file: its import name, and its parsed text."""

    name: str
    tree: ast.Module

    @classmethod
    def of(cls, path: Path, root: Path) -> Module:
        """Read a file under ``root``."""
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        name = name.removesuffix(".__init__")
        return cls(name, ast.parse(path.read_text(encoding="utf-8")))

    def is_in(self, *packages: str) -> bool:
        """Say whether the module is one of ``packages``, or inside one."""
        return any(_is_in(self.name, package) for package in packages)

    def imports(self) -> Iterator[tuple[int, str]]:
        """Yield line and absolute name of everything imported, at any depth.

        ``from a import b`` gives ``a.b``, since b may be a module.
        """
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:  # relative: count from the module's own package
                    package = self.name.split(".")[: -node.level]
                    base = ".".join([*package, *filter(None, [base])])
                yield from ((node.lineno, f"{base}.{a.name}") for a in node.names)


def _is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def wrong_arrows(module: Module) -> list[str]:
    """Return a sentence for each import that the design forbids."""
    found = []
    for line, imported in module.imports():
        reason = _why_wrong(module, imported)
        if reason:
            found.append(f"{module.name}:{line} imports {imported}: {reason}")
    return found


def _why_wrong(module: Module, imported: str) -> str | None:
    def is_one_of(*packages: str) -> bool:
        return any(_is_in(imported, package) for package in packages)

    is_function = is_one_of("lambdas") and not is_one_of(_SHARED)
    is_ours = is_one_of("lambdas", "agents", *_PEOPLE_TOOLS)
    is_agent_file = module.is_in("agents") and not module.is_in("agents.effects")
    if module.is_in(_SHARED) and is_function and imported != "lambdas":
        return "shared knows no function"
    if module.is_in("lambdas") and is_one_of(*_PEOPLE_TOOLS):
        return "what runs in AWS knows no tool of ours"
    if is_agent_file and module.name != "agents" and is_ours:
        return None if is_one_of("agents") else "an agent imports from `agents`"
    if module.is_in("agents") and is_ours and not is_one_of("agents", _SHARED):
        return "an agent knows the contract only"
    if module.is_in("stacks", "app") and (is_function or is_one_of("local", "agents")):
        return "infrastructure reads the shared configuration only"
    goes_out = module.is_in("lambdas") and not module.is_in(_MAY_GO_OUT)
    if goes_out and is_one_of(*_WAYS_OUT):
        return "only adapters go out"
    if is_one_of("boto3", "botocore") and not module.is_in(*_MAY_IMPORT_BOTO):
        return "only adapters talk to AWS"
    return None


def own_clocks(module: Module) -> list[str]:
    """Return a sentence for each reading of the time that no test could move."""
    if module.name == _CLOCK:
        return []
    found = []
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Attribute):
            continue
        owner = node.value
        name = owner.attr if isinstance(owner, ast.Attribute) else ""
        name = owner.id if isinstance(owner, ast.Name) else name
        if (name, node.attr) in _TIME_CALLS:
            found.append(f"{module.name}:{node.lineno} reads {name}.{node.attr}")
    for line, imported in module.imports():
        if tuple(imported.rsplit(".", 1)) in {("time", "time"), ("time", "time_ns")}:
            found.append(f"{module.name}:{line} imports {imported}")
    return found
