"""The script's side of a comparison: it is told how many, and says what one costs.

The parent writes a number on a line; the answer is one line of JSON. What the
measured code itself prints (logs, metrics) goes to /dev/null.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

Job = TypeVar("Job")


def serve(prepare: Callable[[], Job], work: Callable[[Job], Any]) -> None:
    """Answer until the parent closes: the medians of one job's CPU and wall time.

    Only ``work`` is timed; CPU is that of all threads.
    """
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    for line in sys.stdin:
        jobs = [prepare() for _ in range(int(line))]
        # Lambda holds one job, not hundreds: the collector must not walk them all.
        gc.collect()
        gc.freeze()
        spent = [_spent(work, job) for job in jobs]
        gc.unfreeze()
        cpu, wall = (statistics.median(each) for each in zip(*spent, strict=True))
        answers.write(json.dumps({"cpu": cpu, "wall": wall}) + "\n")
        answers.flush()


def _spent(work: Callable[[Job], Any], job: Job) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work(job)
    return time.process_time() - cpu, time.perf_counter() - wall
