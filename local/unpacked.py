"""Unpacks a function's code once, whatever number of its processes the engine starts.

The engine unpacks the whole zip for each process. A worker's holds two thousand files:
that took more of the processor than all that the process then did. Here the files of a
process are links to those that were unpacked first. Nothing writes to them: the
functions' own folder is read-only in AWS. Stands alone, as the engine's environment
holds nothing of ours.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_unpacking = threading.Lock()


class UnpackedOnce(zipfile.ZipFile):
    """A zip file whose contents are unpacked once, and linked from then on."""

    def extractall(
        self, path: Any = None, members: Any = None, pwd: bytes | None = None
    ) -> None:
        """Put the contents into ``path``; only part of them is unpacked as ever."""
        if path is None or members is not None or self.filename is None:
            super().extractall(path, members, pwd)
            return
        name = hashlib.sha256(Path(self.filename).read_bytes()).hexdigest()
        kept = Path(tempfile.gettempdir()) / "ministack-lambda-unpacked" / name
        with _unpacking:
            if not kept.exists():
                fresh = kept.with_name(f"{name}.fresh")
                shutil.rmtree(fresh, ignore_errors=True)
                super().extractall(fresh)
                fresh.rename(kept)
        shutil.copytree(kept, path, copy_function=os.link, dirs_exist_ok=True)


def unpack_once(lambda_runtime: Any) -> None:
    """Let the engine's runtime use it."""
    lambda_runtime.zipfile = SimpleNamespace(
        ZipFile=UnpackedOnce, BadZipFile=zipfile.BadZipFile
    )
