"""A kill at every call between the door and the acknowledgement: one effect each."""

from __future__ import annotations

import time

import pytest

from local.stack import LocalStack
from tests.e2e.crash import matrix
from tests.e2e.crash.acting import Acting, Misdeeds
from tests.e2e.crash.matrix import DEAF, GIVEN_UP, SCENARIOS, SERVED, WALKED, Point, Row
from tests.e2e.crash.till import Till

pytestmark = pytest.mark.crash_matrix

# A point may be missed where a slow machine made an attempt more; it is played again.
_ROUNDS = 3


def played(stack: LocalStack, till: Till, points: list[Point]) -> list[Row]:
    """Play all points until each has killed; returns the last row of each."""
    rows: dict[Point, Row] = {}
    warm = [point for point in points if not point.is_cold]
    for _ in range(_ROUNDS):
        left = [point for point in warm if point not in rows or not rows[point].killed]
        if left:
            rows |= {row.point: row for row in matrix.play(stack, till, left)}
    for point in points:
        if point.is_cold:
            matrix.make_cold(stack, point.function)
            rows |= {row.point: row for row in matrix.play(stack, till, [point])}
    return [rows[point] for point in points]


def test_kill_at_every_point_leaves_one_effect_and_loses_nothing(
    kitchen: LocalStack,
    till: Till,
    misdeeds: Misdeeds,
    marathon: Acting,
    full_size: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [p for s in SCENARIOS for p in matrix.record(kitchen, till, s)]
    points = found if full_size else every_day(found)
    began = time.monotonic()

    rows = played(kitchen, till, points)

    for scenario in SCENARIOS:
        mine = [row for row in rows if row.point.scenario is scenario]
        letters = matrix.letters_of(kitchen, scenario.agent)
        for row in mine:
            row.letters = letters[row.order.event_id]
    in_doubt = [row for row in rows if row.reason == "in_doubt"]
    for row in in_doubt:
        matrix.settle(kitchen, row)
    matrix.redrive_all(kitchen, DEAF, in_doubt)
    lost = [row for row in rows if not is_safe(kitchen, row)]
    with capsys.disabled():
        print("\n" + "\n".join(map(str, rows)))
        print(summary(rows, points, lost), f"({time.monotonic() - began:.0f} s)")
    assert [row for row in rows if not row.killed] == []
    assert lost == []


def every_day(points: list[Point]) -> list[Point]:
    """Leave out what the first scenario shows as well.

    Where keys are ignored the calls around an effect are different, of a run that
    gives up those after its last effect, and of one that hands over those.
    """
    kept = [point for point in points if point.scenario is SERVED]
    deaf = [point for point in points if point.scenario is DEAF]
    sent = [n for n, point in enumerate(deaf) if point.call.startswith("world.")]
    # Before and after it is sent, and before what writes down how it went.
    kept += [p for n, p in enumerate(deaf) if any(abs(n - s) <= 1 for s in sent)]
    given_up = [point for point in points if point.scenario is GIVEN_UP]
    last = max(n for n, p in enumerate(given_up) if p.call.startswith("world."))
    walked = [point for point in points if point.scenario is WALKED]
    sent = [n for n, p in enumerate(walked) if p.call.startswith("sqs.SendMessage")]
    # The last checkpoint and its object, the run's row, and the message.
    handing_over = walked[sent[0] - 6 : sent[-1] + 1]
    return [*kept, *given_up[last + 1 :], *handing_over]


def is_safe(stack: LocalStack, row: Row) -> bool:
    """One record, at most one effect each; done, or honestly dead with one letter."""
    scenario = row.point.scenario
    if any(count > 1 for count in row.effects.values()):
        return False
    if scenario is GIVEN_UP:
        wanted = ("DEAD", "gave_up", 1, {"cook": 1, "serve": 1})
        got = (row.state, row.reason, row.letters, dict(row.effects))
        row.finally_ = "as it should be" if got == wanted else f"WANTED {wanted}"
        return got == wanted
    is_honest = row.state == "SUCCEEDED" or (
        (scenario, row.state, row.reason, row.letters) == (DEAF, "DEAD", "in_doubt", 1)
    )
    was = row.reason
    matrix.look(stack, row)
    once = dict(row.effects) == {"cook": 1, "serve": 1}
    is_done = row.state == "SUCCEEDED" and once
    settled = "settled, redriven: one effect each" if was else "one effect each"
    row.finally_ = settled if is_honest and is_done else "LOST OR REPEATED"
    return is_honest and is_done


def summary(rows: list[Row], points: list[Point], lost: list[Row]) -> str:
    killed = sum(row.killed for row in rows)
    effects = sum(sum(row.effects.values()) for row in rows)
    doubt = sum("settled" in row.finally_ for row in rows)
    return (
        f"points found {len(points)}, killed {killed}; events {len(rows)}, effects"
        f" {effects}, in doubt {doubt} (all where keys are ignored); lost = {len(lost)}"
    )
