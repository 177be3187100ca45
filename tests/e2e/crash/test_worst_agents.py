"""Agents that do their worst, each in a process of its own, and their neighbours."""

from __future__ import annotations

import pytest

from local.stack import LocalStack, wait_for
from tests.e2e.crash.acting import Misdeeds

pytestmark = pytest.mark.crash_matrix

# act -> how its run ends: state, category of the reason, attempts at least
ENDS = {
    "unheard": ("DEAD", "crash", 3),
    "leave": ("DEAD", "crash", 3),
    "recurse": ("DEAD", "error", 3),
    "no json": ("DEAD", "gave_up", 1),
    "twice": ("DEAD", "gave_up", 1),
    "late": ("SUCCEEDED", None, 1),
    "fork": ("SUCCEEDED", None, 1),
    # Nobody is left to write how these ended: the digest tells it from Lambda's log.
    "vanish": ("PROCESSING", None, 3),
    "hang": ("PROCESSING", None, 3),
}


def test_worst_agents_end_alone_and_each_leaves_a_letter(
    kitchen: LocalStack, misdeeds: Misdeeds
) -> None:
    queue = kitchen.queues["actor"].url
    assert wait_for(lambda: kitchen.waiting(queue) == 0, every=1)

    assert {each.state for each in misdeeds.neighbours} == {"SUCCEEDED"}
    ended = {}
    for act, order in misdeeds.bad.items():
        run = order.run
        category = run.get("reason", {}).get("category")
        # A slow machine may need one more for a start that took too long.
        attempts = min(int(run["attempt"]), ENDS[act][2])
        ended[act] = (run["state"], category, attempts)
        assert order.letters == (run["state"] != "SUCCEEDED"), act
        # What it did before is done once; late and forked effects are refused.
        assert order.effects == {"0-effect": 1}, act
    assert ended == ENDS
