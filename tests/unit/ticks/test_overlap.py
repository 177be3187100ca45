"""Ticks that come while an earlier one is at work: skip, queue, concurrent."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lambdas.shared.event import Event
from lambdas.shared.story import State
from lambdas.shared.ticks import Fired, text_of
from lambdas.worker.claim import Verdict
from tests.fakes.ledger import FakeTable
from tests.fakes.schedules import BigTable, Clockwork

START = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TICKS = [START + n * MINUTE for n in range(4)]
IDS = [f"cron:sweep:{text_of(tick)}" for tick in TICKS]


class Killed(BaseException):
    """The process is gone."""


class Mortal(BigTable):
    """A table whose ``n``-th call is the last one of the process that makes it."""

    def __init__(self, n: int = 0, *, is_done: bool = False) -> None:
        super().__init__()
        self.n, self.is_done = n, is_done
        self.count = 0

    def _called(self, operation: str) -> None:
        self.count += 1
        if self.count == self.n and not self.is_done:
            raise Killed
        super()._called(operation)

    def _answered(self) -> None:
        if self.count == self.n and self.is_done:
            raise Killed
        super()._answered()


class Scene:
    """A schedule of every minute whose first run takes three of them."""

    def __init__(self, overlap: str, table: Any = None) -> None:
        lines = f'rate = "1 minute"\noverlap = "{overlap}"'
        self.made = Clockwork(START, {"sweep": lines}, table=table, agent=self.agent)
        self.fired: list[Fired] = []
        self.begun: list[str] = []
        self.at_work: list[str] = []
        self.most_at_once = 0

    def agent(self, event: Event, _: Any) -> None:
        self.begun.append(event.id)
        self.at_work.append(event.id)
        self.most_at_once = max(self.most_at_once, len(self.at_work))
        if event.id == IDS[0] and self.begun.count(event.id) == 1:
            for tick in TICKS[1:]:
                self.made.clock.instant = max(self.made.clock.instant, tick)
                self.come(tick)
        self.at_work.remove(event.id)

    def come(self, tick: datetime) -> None:
        """Let a tick come; a killed function is tried again, as Lambda does."""
        for _ in range(3):
            try:
                self.fired.append(self.made.fire("sweep", tick))
            except Killed:
                self.made.clock.advance(60)
            else:
                return

    def deliver(self, event_id: str) -> None:
        """Deliver until the worker lives; its message comes back after six timeouts."""
        for receive in range(1, 4):
            try:
                self.made.deliver(event_id, receive_count=receive)
            except Killed:
                for _ in range(7):
                    self.made.clock.advance(300)
                    self.look()
            else:
                return

    def look(self) -> None:
        """Let the watcher look, five minutes later if it is killed."""
        try:
            self.made.watcher.look()
        except Killed:
            self.made.clock.advance(300)
            self.made.watcher.look()

    def play(self) -> None:
        """Let everything happen until nothing more does."""
        self.come(TICKS[0])
        for _ in range(12):
            waiting = [id_ for id_ in self.made.accepted() if id_ not in self.begun]
            for event_id in waiting:
                self.deliver(event_id)
            if not waiting:
                self.made.clock.advance(300)
                self.look()


def test_skip_leaves_out_what_comes_meanwhile_and_writes_it_down() -> None:
    scene = Scene("skip")

    scene.play()

    assert scene.fired == [Fired.RUN, *[Fired.SKIPPED] * 3]
    assert scene.begun == [IDS[0]]
    assert [scene.made.state_of(id_) for id_ in IDS] == [
        State.SUCCEEDED,
        *[State.SKIPPED] * 3,
    ]
    run = scene.made.run(IDS[1])
    assert run is not None
    assert run.reason is not None
    assert run.reason.message == f"the tick of {text_of(TICKS[0])} was not over"


def test_skip_runs_the_first_tick_after_the_end() -> None:
    scene = Scene("skip")
    scene.play()

    later = TICKS[3] + MINUTE
    assert scene.made.fire("sweep", later) is Fired.RUN


def test_queue_runs_them_one_after_another_in_order() -> None:
    scene = Scene("queue")

    scene.play()

    assert sorted(scene.fired) == sorted([Fired.RUN, *[Fired.WAITING] * 3])
    assert scene.begun == IDS
    assert scene.most_at_once == 1
    assert scene.made.line("sweep").waiting() == []


def test_a_tick_in_line_burns_no_receives_and_is_accepted_when_its_turn_comes() -> None:
    scene = Scene("queue")
    accepted = []

    def agent(event: Event, run: Any) -> None:
        scene.agent(event, run)
        accepted.append(scene.made.accepted())

    scene.made.agent = agent

    scene.play()

    assert accepted == [IDS[:1], IDS[:2], IDS[:3], IDS[:4]]
    assert {scene.made.run(id_).attempt for id_ in IDS} == {1}  # type: ignore[union-attr]


def test_concurrent_lets_all_run_at_once() -> None:
    scene = Scene("concurrent")
    scene.come(TICKS[0])
    scene.made.agent = lambda event, _: scene.begun.append(event.id)

    for tick in TICKS[1:]:
        scene.come(tick)
    for id_ in scene.made.accepted():
        scene.made.deliver(id_)

    assert scene.fired == [Fired.RUN] * 4
    assert scene.begun == IDS


@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_lease_of_a_run_that_was_killed_ends(overlap: str) -> None:
    """While its message may come back it holds the turn; then it does not."""
    scene = Scene(overlap)
    made = scene.made
    scene.come(TICKS[0])
    made.crash(IDS[0])

    made.clock.advance(60)
    meanwhile = made.fire("sweep", TICKS[1])
    made.clock.advance(2 * 6 * 300)
    made.watcher.look()
    later = made.fire("sweep", TICKS[2])

    if overlap == "skip":
        assert (meanwhile, later) == (Fired.SKIPPED, Fired.RUN)
    else:
        assert (meanwhile, later) == (Fired.WAITING, Fired.WAITING)
        assert made.accepted() == IDS[:2]


@pytest.mark.parametrize("overlap", ["skip", "queue"])
def test_run_that_was_handed_over_keeps_its_turn(overlap: str) -> None:
    """However long its next message waits, as long as a killed one's would."""
    scene = Scene(overlap)
    made = scene.made

    def hands_over(_: Any, run: Any) -> None:
        if run.attempt == 1:
            run.checkpoint("half")
            assert not run.keep_going()

    scene.come(TICKS[0])
    made.agent = hands_over
    assert made.deliver(IDS[0], stopping=True) is Verdict.SUSPENDED

    made.clock.advance(6 * 300 + 4 * 60)
    made.watcher.look()
    meanwhile = made.fire("sweep", TICKS[1])
    made.deliver(IDS[0], receive_count=2)

    assert meanwhile is (Fired.SKIPPED if overlap == "skip" else Fired.WAITING)
    assert made.state_of(IDS[0]) is State.SUCCEEDED
    assert made.accepted() == IDS[: 1 if overlap == "skip" else 2]


def test_run_that_was_killed_and_comes_back_keeps_its_turn() -> None:
    scene = Scene("queue")
    made = scene.made
    scene.come(TICKS[0])
    made.crash(IDS[0])
    made.agent = lambda event, _: scene.begun.append(event.id)
    made.fire("sweep", TICKS[1])

    made.clock.advance(6 * 300)
    made.watcher.look()
    held = made.accepted()
    made.deliver(IDS[0], receive_count=2)

    assert held == IDS[:1]
    assert made.accepted() == IDS[:2]


@pytest.mark.parametrize("overlap", ["skip", "queue"])
@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_a_process_killed_at_any_call_neither_blocks_nor_doubles(
    overlap: str, is_done: bool, full_size: bool
) -> None:
    calm = Mortal()
    Scene(overlap, calm).play()
    step = 1 if full_size else 3

    for n in range(1, calm.count + 1, step):
        scene = Scene(overlap, Mortal(n, is_done=is_done))
        scene.play()

        where = f"killed at call {n}"
        assert scene.most_at_once == 1, where
        assert list(dict.fromkeys(scene.begun))[:1] == IDS[:1], where
        if overlap == "queue":
            assert list(dict.fromkeys(scene.begun)) == IDS, where
            assert [scene.made.state_of(i) for i in IDS] == [State.SUCCEEDED] * 4, where
            assert scene.made.line("sweep").waiting() == [], where
        else:
            ends = {scene.made.state_of(i) for i in IDS}
            assert ends <= {State.SUCCEEDED, State.SKIPPED}, where
        later = text_of(scene.made.clock())
        assert scene.made.fire("sweep", scene.made.clock()) is Fired.RUN, where
        assert f"cron:sweep:{later}" in scene.made.accepted(), where
    print(f"{overlap}: killed at each {step}. of {calm.count} calls")


def test_a_fan_out_holds_the_turn_until_its_last_item_is_done() -> None:
    lines = 'rate = "1 minute"\noverlap = "queue"\nitems = ["a", "b"]'
    made = Clockwork(START, {"sweep": lines})
    made.fire("sweep", TICKS[0])
    made.fire("sweep", TICKS[1])
    first, second = made.accepted()

    made.deliver(first)
    between = made.accepted()
    made.deliver(second)

    assert between == [first, second]
    assert made.accepted()[2:] == [f"{IDS[1]}:a", f"{IDS[1]}:b"]


def test_a_dead_run_lets_the_next_one_begin() -> None:
    scene = Scene("queue")
    scene.come(TICKS[0])
    scene.come(TICKS[1])
    scene.made.agent = lambda *_: 1 // 0

    scene.made.deliver(IDS[0])
    after_failure = scene.made.accepted()
    scene.made.clock.advance(3600)
    scene.made.deliver(IDS[0], receive_count=5)

    assert after_failure == IDS[:1]
    assert scene.made.state_of(IDS[0]) is State.DEAD
    assert scene.made.accepted() == IDS[:2]


def test_line_empties_after_the_schedule_gave_it_up() -> None:
    scene = Scene("queue")
    for tick in TICKS[:3]:
        scene.come(tick)
    scene.made.watcher.look()
    scene.made.agent = lambda *_: None

    scene.made.change({"sweep": 'rate = "1 minute"\noverlap = "concurrent"'})
    for id_ in IDS[:3]:
        scene.made.deliver(id_)
        scene.made.clock.advance(300)
        scene.made.watcher.look()

    assert scene.made.accepted() == IDS[:3]


@pytest.mark.parametrize("overlap", ["skip", "concurrent"])
def test_run_of_a_tick_costs_no_call_more_where_no_tick_waits_in_line(
    overlap: str,
) -> None:
    costs = []
    for kind in (overlap, "queue"):
        table = FakeTable()
        lines = f'rate = "1 minute"\noverlap = "{kind}"'
        made = Clockwork(START, {"sweep": lines}, table=table)
        made.fire("sweep", START)
        table.calls.clear()
        made.deliver(IDS[0])
        # The first is the look of whoever delivers here.
        costs.append(table.calls[1:])

    assert costs[0] == ["update", "get", "update"]
    assert costs[1][:3] == costs[0]
    assert len(costs[1]) > 3
