"""The script's side of a comparison: it is told how many, and says what they cost.

The parent writes a number on a line; the answer is one line of JSON. What the
measured code itself prints (logs, metrics) goes to /dev/null.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

Jobs = TypeVar("Jobs")


def serve(prepare: Callable[[int], Jobs], work: Callable[[Jobs], Any]) -> None:
    """Answer until the parent closes; only ``work`` is timed, CPU of all threads."""
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    for line in sys.stdin:
        jobs = prepare(int(line))
        # Lambda holds one job, not hundreds: the collector must not walk them all.
        gc.collect()
        gc.freeze()
        wall, cpu = time.perf_counter(), time.process_time()
        work(jobs)
        spent = {
            "cpu": time.process_time() - cpu,
            "wall": time.perf_counter() - wall,
        }
        gc.unfreeze()
        answers.write(json.dumps(spent) + "\n")
        answers.flush()
