"""What a process may not outlive, and not outgrow; as far as the system knows how."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

_IS_LINUX = sys.platform == "linux"

# What a script had started before it became this process: not ours to end.
_inherited: set[int] = set()


def end_with(parent: int) -> None:
    """Let this process end when ``parent`` does, and take signals again.

    Its supervisor blocks them, and a process inherits that.
    """
    signals = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    if _IS_LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # it was gone before


def bound_memory(megabytes: int) -> None:
    """Refuse this process more memory than its agent may have.

    An agent that leaks meets a MemoryError, which is written down with its run,
    before the container ends somebody without a word. Should it come to that, it is
    this process that ends, and not the one that answers for the message.
    """
    if not _IS_LINUX:
        return
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    most = megabytes * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def data_megabytes(pid: int) -> int:
    """Return how much a process has of what :func:`bound_memory` bounds; 0: unknown."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[5])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // (1024 * 1024)


def adopt_strays() -> None:
    """Become the parent of what our children leave behind, as process 1 is."""
    _inherited.update(strays(None))
    if _IS_LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def strays(known: int | None) -> Iterator[int]:
    """Yield our children but ``known``, those that have ended and wait included."""
    for pid in children(os.getpid()):
        if pid not in {known, *_inherited}:
            yield pid


def children(parent: int) -> Iterator[int]:
    """Yield the children of a process, those that have ended and wait included."""
    if not _IS_LINUX:
        return
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            stat = Path(entry.path, "stat").read_text("utf-8", "replace")
        except OSError:
            continue  # it has ended meanwhile
        if int(stat.rpartition(")")[2].split()[1]) == parent:
            yield int(entry.name)


def end_strays(known: int | None = None) -> None:
    """End every child of ours but ``known``, and what each leaves.

    They are what the agent's process has started and nobody waits for any more; what
    it still holds is its own child, not ours. Returns when none is left.
    """
    # Each end may give us its children: as many rounds as they are deep.
    for _ in range(100):
        found = list(strays(known))
        if not found:
            return
        for pid in found:
            # A child's pid is nobody else's until it is collected.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            _collect(pid)


def _collect(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
