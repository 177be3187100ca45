"""Many workers at once, over a table whose every call is atomic."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from agents import RetryLater
from lambdas.shared.event import Event
from lambdas.worker.claim import Verdict
from tests.fakes.worker import ISSUE, Rig, World

EVENTS, DUPLICATES = 20, 12


def deliver_all_at_once(rig: Rig) -> Counter[Verdict]:
    """Deliver each event by twelve messages, all of them at the same time."""
    ids = [f"github:{n}" for n in range(EVENTS)]
    for each in ids:
        rig.ledger.accept(replace(ISSUE, id=each))
    gate = threading.Barrier(DUPLICATES, timeout=20)

    def deliver(number: int) -> list[Verdict]:
        verdicts = []
        for each in ids:
            gate.wait()
            verdicts.append(rig.deliver(f"m{number}-{each}", event_id=each))
        return verdicts

    with ThreadPoolExecutor(DUPLICATES) as pool:
        return Counter(
            v for found in pool.map(deliver, range(DUPLICATES)) for v in found
        )


def test_240_racing_deliveries_of_20_events_have_20_effects() -> None:
    world = World()
    rig = Rig(lambda _, run: run.effect("comment", world.post, "hi"))

    verdicts = deliver_all_at_once(rig)

    assert len(world.sent) == len(set(world.sent)) == EVENTS
    assert verdicts == {
        Verdict.SUCCEEDED: EVENTS,
        Verdict.ACKNOWLEDGED: EVENTS * (DUPLICATES - 1),
    }


def test_runs_that_fail_under_a_race_keep_exactly_one_carrier() -> None:
    """Acknowledging too little runs an agent twice, too much loses its event."""

    def agent(event: Event, run: Any) -> None:
        raise RetryLater("busy")

    rig = Rig(agent)

    verdicts = deliver_all_at_once(rig)

    assert verdicts == {
        Verdict.FAILED: EVENTS,
        Verdict.ACKNOWLEDGED: EVENTS * (DUPLICATES - 1),
    }


def test_only_one_of_many_redrives_runs() -> None:
    ran: list[int] = []
    rig = Rig(lambda _, run: ran.append(run.attempt))
    rig.deliver("m0")
    row = rig.table.rows[ISSUE.id, "run#triage"]
    row.update(state="DEAD")
    rig.clock.advance(1)

    with ThreadPoolExecutor(DUPLICATES) as pool:
        verdicts = list(
            pool.map(lambda n: rig.deliver(f"m{n}"), range(1, 1 + DUPLICATES))
        )

    assert Counter(verdicts)[Verdict.SUCCEEDED] == 1
    assert ran == [1, 2]
