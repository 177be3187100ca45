"""The process behind a local stack: outside world, scheduler, and keeper of the engine.

``python -m local.keeper FOLDER PORT AUTH`` runs until it is told to stop, until
the engine dies, or until whoever started it goes away without the word ``keep``
on its standard input; in every case nothing but the logs is left.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from local import engine
from local.home import Home, write_json
from local.world import WorldServer

KEEP = b"keep\n"


def main(folder: str, port: str, auth: str) -> int:
    """Serve until the end; returns 1 when the engine ended by itself."""
    home = Home(Path(folder))
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    signal.signal(signal.SIGINT, lambda *_: stopping.set())
    threading.Thread(target=_watch_starter, args=(stopping,), daemon=True).start()

    world = WorldServer(home.wire)
    threading.Thread(target=world.serve_forever, daemon=True).start()
    started = engine.start(
        home, port=int(port), world_url=world.url, auth=auth == "auth"
    )
    write_json(
        home.keeper_file,
        {
            "pid": os.getpid(),
            "engine_pid": started.process.pid,
            "endpoint": started.endpoint,
            "world_url": world.url,
        },
    )
    scheduling = threading.Thread(
        target=_schedule, args=(home, started, stopping), daemon=True
    )
    scheduling.start()
    working = threading.Thread(target=_work, args=(home, stopping), daemon=True)
    working.start()
    try:
        while not stopping.wait(0.2):
            if started.process.poll() is not None:
                print(f"the engine ended by itself: {started.process.returncode}")
                return 1
        return 0
    finally:
        # First the file, so that nobody connects to what is about to end.
        home.stack_file.unlink(missing_ok=True)
        stopping.set()
        working.join()
        engine.stop(started)
        # It writes a file of its own, which must not come after the clearing.
        scheduling.join()
        world.server_close()
        home.clear()


def _schedule(home: Home, started: engine.Engine, stopping: threading.Event) -> None:
    # Imported here: the engine is on its way already while boto3 loads.
    from local import scheduler

    scheduler.run(home, started.endpoint, stopping)


def _work(home: Home, stopping: threading.Event) -> None:
    from local import workers

    workers.run(home, stopping)


def _watch_starter(stopping: threading.Event) -> None:
    # Unbuffered: a thread inside a buffered read would abort the interpreter's end.
    if os.read(sys.stdin.fileno(), len(KEEP)) != KEEP:
        stopping.set()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
