"""Stages: what runs beside what, and what their end says of the whole."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from local.proofs import Stage, run_all, summary


def python(name: str, code: str, aside: str | None = None) -> Stage:
    return Stage(name, [sys.executable, "-c", code], aside)


def meeting(mine: Path, other: Path) -> str:
    """Code that ends well only while the code of the other one runs."""
    return (
        "import pathlib, sys, time\n"
        f"pathlib.Path({str(mine)!r}).touch()\n"
        "end = time.monotonic() + 120\n"
        f"while not pathlib.Path({str(other)!r}).exists():\n"
        "    if time.monotonic() > end: sys.exit(1)\n"
        "    time.sleep(0.01)\n"
    )


def test_lanes_run_beside_the_main_one_and_beside_each_other(tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))

    results = run_all(
        [
            python("first", meeting(one, two)),
            python("second", meeting(two, three), aside="a"),
            python("third", meeting(three, one), aside="b"),
        ],
        os.environ,
    )

    assert [(r.stage.name, r.exit_code) for r in results] == [
        *(("first", 0), ("second", 0), ("third", 0)),
    ]


def test_stages_of_one_lane_run_one_after_another(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    leave = f"import pathlib; pathlib.Path({str(mark)!r}).touch()"
    find = f"import pathlib, sys; sys.exit(not pathlib.Path({str(mark)!r}).exists())"

    results = run_all(
        [python("leaves", leave, aside="a"), python("finds", find, aside="a")],
        os.environ,
    )

    assert [result.exit_code for result in results] == [0, 0]


def test_what_merely_computes_gives_way_to_what_clocks_decide(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell = [sys.executable, "-c", "import os; print('gives way', os.nice(0))"]
    mine = os.nice(0)

    run_all([Stage("computes", [*tell])], os.environ)
    computes = capsys.readouterr().out
    run_all([Stage("timed", [*tell], is_timed=True)], os.environ)
    timed = capsys.readouterr().out

    assert f"gives way {min(mine + 5, 19)}\n" in computes
    assert f"gives way {mine}\n" in timed


def test_a_stage_that_fails_stops_no_other_and_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = run_all(
        [
            python("broken", "import sys; print('why'); sys.exit(3)", aside="a"),
            python("counts", "print('==== 2 passed, 1 skipped in 0.1s ====')"),
        ],
        os.environ,
    )

    told = summary(results)
    assert "why" in capsys.readouterr().out
    assert "broken        FAILED (3)" in told
    assert told.endswith("2 passed, 0 failed, 1 skipped")
