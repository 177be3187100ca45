"""The folder that holds everything of one running local stack."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lambdas.worker.polling.away import remove

ROOT = Path(__file__).resolve().parent.parent


class LocalError(Exception):
    """Something on this machine is in the way; the message says what to do."""


@dataclass(frozen=True)
class Home:
    """Where the files of one local stack lie. Only ``logs`` outlives ``down``."""

    folder: Path = ROOT / ".local"

    @property
    def stack_file(self) -> Path:
        """What a client needs to talk to the stack; there only while it is ready."""
        return self.folder / "stack.json"

    @property
    def keeper_file(self) -> Path:
        """Process id and ports of the keeper, from its first second on."""
        return self.folder / "keeper.json"

    @property
    def fleet(self) -> Path:
        """The fleet file as it was deployed, wherever it came from."""
        return self.folder / "fleet.toml"

    @property
    def clock(self) -> Path:
        """The clock file; empty means the real time."""
        return self.folder / "clock"

    @property
    def kill(self) -> Path:
        """The armed kill point; see ``local/hooks/sitecustomize.py``."""
        return self.folder / "kill"

    @property
    def temp(self) -> Path:
        """The engine's TMPDIR: it unpacks every function here and leaves it there."""
        return self.folder / "tmp"

    @property
    def logs(self) -> Path:
        """Logs of the engine and the keeper, and the wire record."""
        return self.folder / "logs"

    @property
    def wire(self) -> Path:
        """Every call that a function made, as the other side saw it arrive."""
        return self.logs / "wire.jsonl"

    @property
    def engine_log(self) -> Path:
        """What the engine said of itself; functions have a ``functions.log``."""
        return self.logs / "engine.log"

    @property
    def keeper_log(self) -> Path:
        """What the keeper said."""
        return self.logs / "keeper.log"

    def prepare(self) -> None:
        """Make the folder fresh: no file of an earlier stack, its logs included."""
        remove(self.folder)
        self.temp.mkdir(parents=True)
        self.logs.mkdir()
        self.clock.touch()
        self.wire.touch()

    def clear(self) -> None:
        """Remove everything but the logs."""
        if not self.folder.is_dir():
            return
        for entry in self.folder.iterdir():
            if entry != self.logs:
                # A worker that was killed leaves what its agent has left.
                remove(entry)


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` so that a reader sees all of it or nothing."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)


def read_json(path: Path) -> Any | None:
    """Return what the file holds, or None where there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def is_alive(pid: int, command: str = "") -> bool:
    """Tell whether a process runs, and (where the system tells) runs ``command``.

    One that ended and was not collected yet does not run. A pid from a file may
    by now be somebody else's process: hence ``command``.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return not command
    process = Path(f"/proc/{pid}")
    try:
        status = (process / "stat").read_text(encoding="utf-8")
        words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return not Path("/proc/self").exists()
    return status.rpartition(")")[2].split()[0] != "Z" and command in words
