"""A lease: only ever longer, counted by two clocks, lost for good."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

from lambdas.shared.story import Category, Reason, State
from lambdas.worker.claim import Verdict
from lambdas.worker.holding import Ending, release, renew
from lambdas.worker.lease import Lease
from tests.fakes.worker import Rig, World

STALLED = Reason(
    category=Category.STALLED,
    type="Stalled",
    message="no sign of life",
    fingerprint="f",
)


class Ticks:
    """Counts seconds, as no clock on a wall does."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def test_lease_lasts_until_its_end() -> None:
    lease = Lease(5000, 1000)

    assert lease.lasts(4999)
    assert not lease.lasts(5000)


def test_lease_is_never_shortened_whatever_is_asked_of_it() -> None:
    chance = random.Random(11)  # noqa: S311 - no secret
    lease, latest = Lease(5000, 0), 5000

    for _ in range(200):
        asked = chance.randint(0, 50_000)
        lease.extend(asked, 0)
        latest = max(latest, asked)

        assert lease.ends_ms == latest


def test_lost_lease_does_not_come_back() -> None:
    lease = Lease(5000, 0)

    lease.lose()
    lease.extend(9000, 0)

    assert lease.is_lost
    assert not lease.lasts(1)


def test_clock_set_back_makes_no_lease_longer() -> None:
    ticks = Ticks()
    lease = Lease(60_000, 0, ticks)

    ticks.seconds += 61

    assert not lease.lasts(-3_600_000)


def test_clock_set_forward_ends_the_lease() -> None:
    lease = Lease(60_000, 0, Ticks())

    assert not lease.lasts(3_600_000)


def test_extension_counts_from_the_moment_it_was_made() -> None:
    ticks = Ticks()
    lease = Lease(60_000, 0, ticks)

    ticks.seconds += 50
    lease.extend(110_000, 50_000)
    ticks.seconds += 59

    assert lease.lasts(109_000)
    ticks.seconds += 2
    assert not lease.lasts(109_000)


def test_lease_is_extended_by_one_thread_while_another_asks() -> None:
    lease = Lease(1, 0)
    threads = [
        threading.Thread(target=lease.extend, args=(n * 1000, 0)) for n in range(1, 50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert lease.ends_ms == 49_000


class Held:
    """An agent in the middle of whose run something is done to its row."""

    def __init__(self) -> None:
        self.rig = Rig(self)
        self.meanwhile: Callable[[], None] = lambda: None

    def __call__(self, *_: object) -> None:
        self.meanwhile()


def test_renewed_lease_is_kept_in_the_row_and_never_lowered() -> None:
    held = Held()
    later = held.rig.clock.ms + 90_000
    ends = []

    def meanwhile() -> None:
        (claim,) = held.rig.time.claims
        for each in (later, later - 60_000, later):
            assert renew(held.rig.table, claim.holding, each)
            ends.append(held.rig.run.due_at)

    held.meanwhile = meanwhile

    assert held.rig.deliver() is Verdict.SUCCEEDED
    assert ends == [later, later, later]


def test_released_run_is_claimed_at_once_by_its_own_message() -> None:
    held = Held()

    def meanwhile() -> None:
        (claim,) = held.rig.time.claims
        now_ms = held.rig.clock.ms
        ending = Ending(state=State.FAILED, reason=STALLED, due_ms=now_ms)
        assert release(held.rig.table, claim.holding, ending, now_ms)
        assert not release(held.rig.table, claim.holding, ending, now_ms)
        assert not renew(held.rig.table, claim.holding, now_ms + 1000)
        assert held.rig.run.reason == STALLED
        raise SystemExit("the child is killed")

    held.meanwhile = meanwhile
    held.rig.deliver()
    held.meanwhile = lambda: None

    assert held.rig.deliver("m1", receive_count=2) is Verdict.SUCCEEDED
    assert held.rig.run.attempt == 2


def test_holder_of_an_ended_claim_can_neither_renew_nor_release() -> None:
    held = Held()
    held.rig.deliver()
    (claim,) = held.rig.time.claims
    before = held.rig.run

    assert not renew(held.rig.table, claim.holding, held.rig.clock.ms + 1000)
    ending = Ending(state=State.FAILED, reason=STALLED)
    assert not release(held.rig.table, claim.holding, ending, held.rig.clock.ms)
    assert held.rig.run == before


def test_holder_of_a_claim_taken_over_can_neither_renew_nor_release() -> None:
    held = Held()
    rig = held.rig

    def meanwhile() -> None:
        (claim, *_) = rig.time.claims
        held.meanwhile = lambda: None
        rig.clock.advance(3600)
        assert rig.deliver("m2") is Verdict.SUCCEEDED
        before = rig.run
        assert not renew(rig.table, claim.holding, rig.clock.ms + 1000)
        ending = Ending(state=State.FAILED, reason=STALLED)
        assert not release(rig.table, claim.holding, ending, rig.clock.ms)
        assert rig.run == before

    held.meanwhile = meanwhile

    assert rig.deliver("m1") is Verdict.STALE


def test_signs_of_life_and_the_claim_are_told_to_the_host() -> None:
    outside = World()

    def agent(_: object, run: Any) -> None:
        run.step("one", lambda: 1)
        run.log.info("two")
        run.effect("three", outside.post, "hello")

    rig = Rig(agent)

    rig.deliver()

    assert [claim.event_id for claim in rig.time.claims] == ["github:72d3162e"]
    assert rig.time.signs == 3
