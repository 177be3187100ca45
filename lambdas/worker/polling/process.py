"""The child as its supervisor sees it: started, told, ended with all it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import lambdas
from lambdas.shared.adapters.lines import Line, pair
from lambdas.worker.polling import bounds
from lambdas.worker.polling.away import remove

# A line waits so long for a child that does not read: stopped, or starved.
_PATIENCE_SECONDS = 5.0

# A pool for each of a container's sixteen processors, and who watches over it.
_MOST_HELPERS = 20

_COMMAND = (sys.executable, "-P", "-m", "lambdas.worker.polling.child")


@dataclass(frozen=True, slots=True)
class Said:
    """A line of a child's."""

    child: ChildProcess
    line: Line


@dataclass(frozen=True, slots=True)
class Gone:
    """All lines of a child's were told, and none will come."""

    child: ChildProcess


class ChildProcess:
    """One child, in a session of its own, so that it can be ended with its like.

    Its pid stays its own until :meth:`end` collects it. What it writes into its
    ``TMPDIR`` is gone after the run.
    """

    def __init__(
        self,
        tell: Callable[[Said | Gone], None],
        environment: Mapping[str, str],
        *,
        adopts: bool = False,
    ) -> None:
        """Start it; ``tell`` is called from threads.

        The thread that starts it must live as long as it may: the child ends with
        that thread. ``adopts``: whatever else this process is the parent of was
        left behind by a child, and ends with it.
        """
        self._tell = tell
        self._adopts = adopts
        self._collecting = threading.Lock()
        self.temp = _own_folder()
        self._lines, theirs = pair(_PATIENCE_SECONDS)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                [*_COMMAND, str(theirs.fileno()), str(os.getpid())],
                env={**environment, **_path(environment), **_temp_of(self.temp)},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        for target in (self._listen, self._await_end):
            threading.Thread(target=target, name="child", daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id, and that of its session and group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended (-9: SIGKILL), once :meth:`end` has returned."""
        return self._process.returncode

    def send(self, **fields: object) -> bool:
        """Say something; ``False`` when it is gone or does not read any more."""
        return self._lines.send(**fields)

    def end(self) -> None:
        """End it and all it started; returns when nothing of it runs. Twice is once.

        What it has told before comes all the same, and then that it is gone.
        """
        self._kill()
        self._has_ended()
        with self._collecting:
            self._process.wait()
        if self._adopts:
            bounds.end_strays()
        if self.temp is not None:
            remove(self.temp)

    def clear(self) -> None:
        """Take away what its last run left: files, and processes without a parent."""
        if self._adopts:
            bounds.end_strays(self.pid)
        if self.temp is None:
            return
        with contextlib.suppress(OSError):
            if self.temp.is_symlink() or not self.temp.is_dir():
                # The agent put it away: the next run finds one all the same.
                self.temp.unlink(missing_ok=True)
                self.temp.mkdir(mode=0o700)
            for entry in self.temp.iterdir():
                remove(entry)

    def is_swollen(self, megabytes: int) -> bool:
        """Whether it keeps most of the memory that its agent may have, or more
        processes than one would to work with: left at every run, they never end.
        """
        if bounds.data_megabytes(self.pid) > megabytes * 3 // 4:
            return True
        return sum(1 for _ in bounds.children(self.pid)) > _MOST_HELPERS

    def _kill(self) -> None:
        with self._collecting:
            if self._process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)

    def _has_ended(self) -> None:
        """Return when it has, and leave it uncollected: its pid is nobody else's."""
        if not hasattr(os, "waitid"):  # macOS, before Python 3.13
            self._process.wait()
            return
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)

    def _listen(self) -> None:
        while (lines := self._lines.take(None)) is not None:
            for line in lines:
                self._tell(Said(self, line))
        self._lines.close()
        self._tell(Gone(self))

    def _await_end(self) -> None:
        self._has_ended()
        # What it started and left in its group.
        self._kill()
        # A copy that the agent forked may hold the line open for ever.
        self._lines.no_more()


def _own_folder() -> Path | None:
    try:
        return Path(tempfile.mkdtemp(prefix="bellhop-run-"))
    except OSError:
        return None  # a full disk must not keep a worker from working


def _path(environment: Mapping[str, str]) -> dict[str, str]:
    """Let it find what we were imported from, wherever it starts."""
    ours = str(Path(lambdas.__path__[0]).parent)
    more = environment.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([ours, more] if more else [ours])}


def _temp_of(folder: Path | None) -> dict[str, str]:
    return {} if folder is None else {"TMPDIR": str(folder)}
