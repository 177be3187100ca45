"""Strays are ended, kepts are not; and an agent's memory has a limit."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux knows how")


def told(code: str) -> list[str]:
    """Run ``code`` in a process of its own; returns the words that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.split()


def test_what_has_lost_its_parent_is_ended_and_nothing_else_is() -> None:
    """One of a script that became us, our child and its own child stay."""
    assert told(
        """
        import os, subprocess, sys, time
        from lambdas.worker.polling import bounds

        def sleeper():
            return subprocess.Popen(["sleep", "60"])

        def is_there(pid):
            try:
                text = open(f"/proc/{pid}/stat").read()
            except OSError:
                return False
            return text.rpartition(")")[2].split()[0] != "Z"

        before = sleeper()
        bounds.adopt_strays()
        # In one write each: two lines of one pipe must not become one.
        tell = "os.write(1, b'%d\\\\n' % {})\\n"
        forks = "import os, subprocess, time\\nif os.fork() == 0:\\n os.setsid()\\n"
        forks += " if os.fork(): os._exit(0)\\n " + tell.format("os.getpid()")
        forks += " time.sleep(60)\\nos.wait()\\n"
        forks += "kept = subprocess.Popen(['sleep', '60'])\\n"
        forks += tell.format("kept.pid") + "time.sleep(60)"
        child = subprocess.Popen(
            [sys.executable, "-c", forks], stdout=subprocess.PIPE, text=True
        )
        pids = [int(child.stdout.readline()) for _ in range(2)]
        # The one between the two may end a moment after it has said so.
        while not (left := list(bounds.strays(child.pid))):
            time.sleep(0.01)
        (stray,) = left
        (kept,) = set(pids) - {stray}
        bounds.end_strays(child.pid)
        print(*map(is_there, (stray, kept, child.pid, before.pid)))
        child.kill()
        child.wait()
        bounds.end_strays()
        print(*map(is_there, (kept, before.pid)))
        before.kill()
        """
    ) == ["False", "True", "True", "True", "False", "True"]


def test_process_that_takes_too_much_memory_meets_its_limit() -> None:
    assert told(
        """
        import os
        from lambdas.worker.polling import bounds

        bounds.bound_memory(300)
        taken = []
        try:
            while len(taken) < 1000:
                taken.append(bytearray(1024 * 1024))
        except MemoryError:
            kept = bounds.data_megabytes(os.getpid())
            print(100 < len(taken) < 300, 200 < kept <= 300)
        """
    ) == ["True", "True"]
