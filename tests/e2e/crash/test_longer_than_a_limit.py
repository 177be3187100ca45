"""A run of six time limits' length, on functions: it ends once, as one run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local.stack import LocalStack
from tests.e2e.crash.acting import Acting

pytestmark = pytest.mark.crash_matrix

LIMIT_SECONDS, WORK_SECONDS, ROUND_SECONDS = 4, 24, 0.5


def deliveries(stack: LocalStack, event_id: str) -> list[dict[str, Any]]:
    """Return what the worker logged of each delivery that had a verdict."""
    return [line for line in _lines(stack) if line.get("event_id") == event_id]


def _lines(stack: LocalStack) -> Iterator[dict[str, Any]]:
    with (stack.log_dir / "functions.log").open(encoding="utf-8") as log:
        for text in log:
            if '"verdict"' in text:
                yield json.loads(text)


def test_run_of_six_time_limits_ends_once_and_is_never_near_its_dead_letters(
    kitchen: LocalStack, marathon: Acting, capsys: pytest.CaptureFixture[str]
) -> None:
    marathon.rests()

    run = marathon.run
    assert run["state"] == "SUCCEEDED"
    assert marathon.effects == {"arrive": 1}
    (arrived,) = [
        effect["body"]["made"]
        for effect in kitchen.effects("/arrive")
        if effect["body"]["order"] == marathon.order.id
    ]
    # Each round once, in its order; each attempt went on where the last one was.
    assert len(arrived) == round(WORK_SECONDS / ROUND_SECONDS)
    assert arrived == sorted(arrived)
    attempts = max(arrived)
    assert attempts >= WORK_SECONDS // LIMIT_SECONDS
    assert marathon.letters == 0
    told = deliveries(kitchen, marathon.order.event_id)
    verdicts = [line["verdict"] for line in told]
    receives = max(line["receive_count"] for line in told)
    with capsys.disabled():
        print(
            f"\na run of {WORK_SECONDS} s within {LIMIT_SECONDS} s:"
            f" {attempts} attempts, {verdicts.count('suspended')} hand-overs,"
            f" most receives of a message {receives}, effects {marathon.effects}"
        )
    assert verdicts.count("suspended") >= WORK_SECONDS // LIMIT_SECONDS - 1
    # Of five. A busy machine may end an attempt, and each end costs one.
    assert receives <= 3
    assert set(verdicts) <= {"suspended", "failed", "succeeded", "acknowledged"}


def test_its_checkpoint_tells_how_far_it_is(marathon: Acting) -> None:
    marathon.rests()

    row = marathon.stack.rows(marathon.order.event_id)["checkpoint#marathon"]

    assert int(row["version"]) == round(WORK_SECONDS / ROUND_SECONDS)
    assert json.loads(row["state"])[-1] == int(row["attempt"])
