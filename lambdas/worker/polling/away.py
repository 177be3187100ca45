"""Takes away what somebody else has left: any file, and a folder of any depth."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def remove(place: Path) -> None:
    """Take away a file, or a folder with all that it holds, as far as that is ours.

    Follows no link. Twice is once; what cannot be taken away stays, and its
    neighbours go. (``shutil.rmtree`` calls itself before Python 3.13, and is ended by
    a folder that is deep, which costs an agent one line.)
    """
    if not _is_folder(place):
        _unlink(place)
        return
    # What lies deep is moved up, so that nothing is ever more than two deep.
    number = 0
    while folders := [each for each in _emptied(place) if _is_folder(each)]:
        is_stuck = True
        for folder in folders:
            for deeper in _emptied(folder):
                number += 1
                with contextlib.suppress(OSError):
                    deeper.rename(place / f".{os.getpid()}-{number}")
                    is_stuck = False
            with contextlib.suppress(OSError):
                folder.rmdir()
                is_stuck = False
        if is_stuck:
            return
    with contextlib.suppress(OSError):
        place.rmdir()


def _emptied(folder: Path) -> list[Path]:
    """Take away the files of a folder; return what is left in it."""
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    try:
        found = list(folder.iterdir())
    except OSError:
        return []
    for each in found:
        if not _is_folder(each):
            _unlink(each)
    return [each for each in found if _is_folder(each)]


def _unlink(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()


def _is_folder(place: Path) -> bool:
    return place.is_dir() and not place.is_symlink()
