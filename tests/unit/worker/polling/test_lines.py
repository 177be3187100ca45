"""Lines between two processes: whole, in order, and never waited for in vain."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import pytest

from lambdas.shared.adapters.lines import Line, Lines, pair

Ends = tuple[Lines, Lines]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = pair(1.0)
    ends = ours, Lines(theirs)
    yield ends
    for end in ends:
        end.close()


def test_lines_arrive_whole_and_in_order_whatever_their_size(ends: Ends) -> None:
    ours, theirs = ends
    sent = [{"run": "x" * size, "n": size} for size in (0, 1, 70_000, 900_000, 3)]
    threading.Thread(target=lambda: [ours.send(**each) for each in sent]).start()

    got: list[Line] = []
    while len(got) < len(sent):
        lines = theirs.take(5)
        assert lines is not None
        got += lines

    assert got == sent


def test_what_was_sent_before_the_end_arrives_before_the_end(ends: Ends) -> None:
    ours, theirs = ends
    theirs.send(verdict="succeeded")
    theirs.close()

    assert ours.take(1) == [{"verdict": "succeeded"}]
    assert ours.take(1) is None
    assert ours.send(stop=True) is False


def test_end_is_found_though_another_process_holds_the_line(ends: Ends) -> None:
    """A copy that the agent forked."""
    ours, theirs = ends
    theirs.send(verdict="succeeded")

    ours.no_more()

    assert ours.take(1) == [{"verdict": "succeeded"}]
    assert ours.take(1) is None


def test_one_that_does_not_read_is_given_up_and_told_the_end(ends: Ends) -> None:
    ours, theirs = ends
    began = time.monotonic()

    assert ours.send(run="x" * 5_000_000) is False

    assert 0.5 < time.monotonic() - began < 60
    while theirs.take(1) is not None:
        pass


def test_hint_waits_for_nobody(ends: Ends) -> None:
    """A paused supervisor must not hold up the run."""
    ours, theirs = ends
    began = time.monotonic()

    for _ in range(5_000):
        theirs.hint(alive=True)
        # Waited for, each that finds no room would take a tenth of a second.
        assert time.monotonic() - began < 60
    got = ours.take(1)
    assert got
    assert all(line == {"alive": True} for line in got)


@pytest.mark.parametrize(
    "junk",
    [b"\x00garbage\n", b"\n", b"5\n", b"[]\n", b"[" * 100_000 + b"\n", b"x" * 2**25],
    ids=["no JSON", "nothing", "a number", "a list", "depth", "no end"],
)
def test_what_is_no_line_is_the_end(ends: Ends, junk: bytes) -> None:
    """An agent may write into every file that is open."""
    ours, theirs = ends
    writing = threading.Thread(target=_write, args=(theirs, junk))
    writing.start()

    took: list[Line] | None = []
    while took == []:
        took = ours.take(1)
    ours.close()
    writing.join(10)

    assert took is None


def _write(end: Lines, junk: bytes) -> None:
    with contextlib.suppress(OSError):
        end._end.sendall(junk)
