"""Digs steps that can be counted from outside, and does what harms its own process."""

import contextlib
import ctypes
import json
import os
import signal
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from agents import Event, Run
from agents.effects import http

_EFFECTS = "https://honours.example"


def digs(event: Event, run: Run) -> None:
    """Take as many steps, and have as many effects, as the order says."""
    order = event.payload["data"]["order"]
    for number in range(int(event.payload["data"]["do"][0])):
        run.step(f"dig-{number}", shovel, order, number)
        told = {"order": order, "number": number}
        run.effect(
            f"cart-{number}", http.post, f"{_EFFECTS}/cart", told, repeatable=True
        )


def delves(event: Event, run: Run) -> None:
    """Go on from where the last attempt has come to."""
    order = event.payload["data"]["order"]
    steps = int(event.payload["data"]["do"][0])
    done = run.resumed_from or 0
    while done < steps and run.keep_going():
        shovel(order, done)
        done += 1
        run.checkpoint(done)
    told = {"order": order, "number": done}
    run.effect("cart", http.post, f"{_EFFECTS}/cart", told, repeatable=True)


def mines(event: Event, run: Run) -> None:
    """Do each act, and take a step after it."""
    order = event.payload["data"]["order"]
    for number, act in enumerate(event.payload["data"]["do"]):
        ACTS[act](run)
        run.step(f"dig-{number}", shovel, order, number)


# The same; the fleet's file gives them other times.
holds, stalls, lingers = digs, mines, mines


def shovel(order: str, number: int) -> int:
    """Take a moment, in sight of the outside world; each time is seen."""
    told = json.dumps({"order": order, "number": number}).encode()
    world = os.environ["BELLHOP_WORLD_URL"]
    request = urllib.request.Request(  # noqa: S310 - the loopback
        f"{world}/steps.example/{order}",
        data=told,
        headers={"content-type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=60).close()  # noqa: S310
    time.sleep(0.3)
    return number


def wait(run: Run) -> None:
    """Work for a while, with signs of life."""
    for _ in range(30):
        run.log.info("still at it")
        time.sleep(0.2)


def ignore(run: Run) -> None:
    """Go on for ever, alive, whatever is asked."""
    while True:
        with contextlib.suppress(Exception):
            run.log.info("no")
        time.sleep(0.2)


def block(_: Run) -> None:
    """Take no signal, and give none."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(3600)


def hang_once(run: Run) -> None:
    """Hang, the first time."""
    if run.attempt == 1:
        time.sleep(3600)


def seize_once(run: Run) -> None:
    """Hold the interpreter itself, the first time: no thread of ours goes on."""
    if run.attempt == 1:
        ctypes.PyDLL(None).sleep(3600)


def vanish_once(run: Run) -> None:
    """End the process without a word, the first time."""
    if run.attempt == 1:
        os._exit(3)


def hang_up_once(run: Run) -> None:
    """Close everything that is open, the supervisor's line included."""
    if run.attempt == 1:
        os.closerange(3, 256)
        time.sleep(3600)


def scribble_once(run: Run) -> None:
    """Write what is no line of anybody's into every file, the first time."""
    if run.attempt == 1:
        for file in range(3, 64):
            with contextlib.suppress(OSError):
                os.write(file, b'{"claimed":5}\n{"verdict":1}\n5\n')
        time.sleep(3600)


def part(run: Run) -> None:
    """Be two within a step, and both come back from it."""
    run.step("part", lambda: os.fork() and None)


def leave_behind(run: Run) -> None:
    """Leave processes that hold our files: the first time in our group, too."""
    for leaves in (False, True) if run.attempt == 1 else (True,):
        child = os.fork()
        if child == 0:
            _stay(leaves)
        if leaves:
            os.waitpid(child, 0)
    vanish_once(run)


def _stay(leaves: bool) -> None:
    if leaves:
        os.setsid()
        if os.fork():
            os._exit(0)
    ctypes.CDLL(None).prctl(15, b"left-behind", 0, 0, 0)  # the process's name
    time.sleep(3600)
    os._exit(0)


def leak_once(run: Run) -> None:
    """Take memory until there is none."""
    if run.attempt == 1:
        taken = []
        while True:
            taken.append(bytearray(8 * 1024 * 1024))


def fill(_: Run) -> None:
    """Fill the disk, and leave it so."""
    file = Path(tempfile.mkdtemp()) / "all"
    with contextlib.suppress(OSError), file.open("wb", buffering=0) as full:
        while True:
            full.write(bytes(1024 * 1024))
    sys.stdout.write(f"filled {file.stat().st_size} bytes of {file}\n")


def orphan(_: Run) -> None:
    """End our supervisor, and try to go on without it."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3)


ACTS: dict[str, Any] = {
    "wait": wait,
    "ignore": ignore,
    "block": block,
    "hang once": hang_once,
    "seize once": seize_once,
    "vanish once": vanish_once,
    "hang up once": hang_up_once,
    "scribble once": scribble_once,
    "part": part,
    "leave behind": leave_behind,
    "leak once": leak_once,
    "fill": fill,
    "orphan once": lambda run: orphan(run) if run.attempt == 1 else None,
}
