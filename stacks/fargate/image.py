"""What a worker's image holds: what a function's zip would, and Lambda's own part.

The image is built when the stack is deployed; synthesis only stages the folder that
it is built from, so it needs neither Docker nor a network.

This module needs nothing but Python: the set-up imports it too.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from stacks.packaging import BUILD, link, put_in_place, stage

DOCKERFILE = Path(__file__).with_name("Dockerfile")

#: Nobody in the image's list of users, by number: the list stays as it is.
USER = "1000:1000"

_SETS = ("agents", "container", "zones")

# Of our code only these parts run in a container; a new one stays out until it is named
# here.
_SHIPPED = frozenset({"__init__.py", "shared", "worker"})

# Lambda calls it, a container never.
_UNCALLED = Path("lambdas/worker/handler.py")

# Changes whenever stage_image() puts something else together from the same files.
_STAGING = b"1"


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

    def left_out(parent: str, names: list[str]) -> set[str]:
        place = Path(parent).relative_to(asset)
        if place == Path("lambdas"):
            return set(names) - _SHIPPED
        return {name for name in names if place / name == _UNCALLED}

    shutil.copytree(asset, aside / "task", copy_function=link, ignore=left_out)
    shutil.copyfile(DOCKERFILE, aside / "Dockerfile")
    aside.chmod(0o755)
    return put_in_place(aside, folder)
