"""What a worker's image holds: what a function's zip would, and Lambda's own part.

The image is built when the stack is deployed; synthesis only stages the folder that
it is built from, so it needs neither Docker nor a network.

This module needs nothing but Python: the set-up imports it too.
"""

from __future__ import annotations

import ast
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from stacks.packaging import BUILD, link, put_in_place, stage

DOCKERFILE = Path(__file__).with_name("Dockerfile")

#: Nobody in the image's list of users, by number: the list stays as it is.
USER = "1000:1000"

_SETS = ("agents", "container", "zones")

# What is started: the container's command, and its process for the agent.
_ENTRIES = ("lambdas.worker.polling.__main__", "lambdas.worker.polling.child")

# Changes whenever stage_image() puts something else together from the same files.
_STAGING = b"2"


def stage_image(fleet_path: Path, *, local: bool = False) -> Path:
    """Return a folder with a Dockerfile and, in ``task``, all that it copies.

    Equal content gives the same folder, as with :func:`stacks.packaging.stage`.
    ``local`` takes the libraries of this machine instead of the image's.

    Raises:
        Misconfigured: a set of dependencies is not built, or there is no fleet file.
    """
    asset = stage(_SETS, fleet_path, local=local)
    total = hashlib.sha256(_STAGING + asset.name.encode() + DOCKERFILE.read_bytes())
    folder = BUILD / f"image-{total.hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    aside = Path(tempfile.mkdtemp(prefix="staging-", dir=BUILD))
    wanted = _imported(asset)

    def left_out(parent: str, names: list[str]) -> set[str]:
        """Leave out of our own code whatever nothing that is started imports."""
        place = Path(parent).relative_to(asset)
        if place.parts[:1] != ("lambdas",):
            return set()
        folder = place.parent if place.name == "__pycache__" else place
        modules = (folder / f"{name.split('.')[0]}.py" for name in names)
        return {
            name
            for name, module in zip(names, modules, strict=True)
            if module not in wanted
            and folder / name not in wanted
            and name != "__pycache__"
        }

    shutil.copytree(asset, aside / "task", copy_function=link, ignore=left_out)
    shutil.copyfile(DOCKERFILE, aside / "Dockerfile")
    aside.chmod(0o755)
    return put_in_place(aside, folder)


def _imported(asset: Path) -> set[Path]:
    """Return what of ``lambdas`` is started, or imported by it or by an agent.

    Of files, and of the folders that they lie in, relative to ``asset``. An import
    within a function counts like any other.
    """
    todo = [*_ENTRIES, *_imports_of(*(asset / "agents").rglob("*.py"))]
    wanted: set[Path] = set()
    while todo:
        place = Path(*todo.pop().split("."))
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path in wanted or not (asset / path).is_file():
                continue
            wanted |= {path, *path.parents}
            todo += _imports_of(asset / path)
            todo += [".".join(parent.parts) for parent in path.parents if parent.parts]
    return wanted


def _imports_of(*paths: Path) -> Iterator[str]:
    """Yield the modules of ``lambdas`` that these files may import, by their names."""
    for path in paths:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                # What is imported from a package may be a module of it.
                yield from (f"{node.module}.{each.name}" for each in node.names)
