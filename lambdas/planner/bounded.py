"""Expands a feed in a process of its own, which is ended when it takes too much.

A feed is a stranger's: whatever a library does on it, for however long, the other
calendars are read.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from functools import partial
from pathlib import Path

import lambdas
from lambdas.planner.occurrence import Reading, Refused, Window
from lambdas.planner.timed import within

LONGEST_SECONDS = 30
# Of that, for one entry: a rule that never comes true is sought until the year 9999.
LONGEST_ENTRY_SECONDS = 3.0
# A feed of 10 MB takes 300 MB to read.
MOST_MEMORY_BYTES = 900_000_000

_REFUSED = 3


def expand(
    feed: bytes,
    window: Window,
    zone: str,
    *,
    seconds: float = LONGEST_SECONDS,
    entry_seconds: float = LONGEST_ENTRY_SECONDS,
    memory_bytes: int = MOST_MEMORY_BYTES,
) -> Reading:
    """Do :func:`lambdas.planner.ical.expand` within bounds.

    Raises:
        Refused: as it does, and when it takes too long or too much memory.
    """
    span = window.since.isoformat(), window.until.isoformat()
    arguments = [*span, zone, str(entry_seconds), str(memory_bytes)]
    try:
        done = subprocess.run(  # noqa: S603 - ourselves, on input through a pipe
            [sys.executable, "-m", __name__, *arguments],
            input=feed,
            capture_output=True,
            timeout=seconds,
            check=False,
            # Nothing of ours: no credentials beside a stranger's text.
            env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": _path()},
        )
    except subprocess.TimeoutExpired as error:
        raise Refused(f"expanding it took longer than {seconds:g} s") from error
    if done.returncode == 0:
        return Reading.from_text(done.stdout.decode())
    if done.returncode == _REFUSED:
        raise Refused(done.stderr.decode("utf-8", "replace").strip())
    last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    raise Refused(f"expanding it failed: {''.join(last)[:200] or done.returncode}")


def _path() -> str:
    here = str(Path(lambdas.__path__[0]).parent)
    return os.pathsep.join([here, *(part for part in sys.path if part)])


def _main(
    since: str, until: str, zone: str, entry_seconds: str, memory_bytes: str
) -> int:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (int(memory_bytes), int(memory_bytes)))
    window = Window(
        since=datetime.fromisoformat(since), until=datetime.fromisoformat(until)
    )
    try:
        from lambdas.planner import ical

        feed = sys.stdin.buffer.read()
        bound = partial(within, float(entry_seconds))
        reading = ical.expand(feed, window, ical.utc_or(zone), bound=bound)
        sys.stdout.write(reading.to_text())
    except Refused as error:
        sys.stderr.write(str(error))
        return _REFUSED
    except MemoryError:
        # At once: the interpreter's own end would want memory, too.
        os.write(2, b"expanding it takes too much memory")
        os._exit(_REFUSED)
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
