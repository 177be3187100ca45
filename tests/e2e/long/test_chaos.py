"""Workers that are killed, stopped and paused at random: each run ends once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from local.home import Home
from local.stack import LocalStack
from tests.e2e.crash.till import Till
from tests.e2e.long.crew import Crew, Worker
from tests.e2e.long.scene import Play

AGENT = "chaos"
WORKERS = 4
STEPS = "4"
# Of real time between two misfortunes.
PACE_SECONDS = 1.0


class Misfortune:
    """Strikes a worker, or its child; what was paused goes on a while later."""

    def __init__(self, crew: Crew, chance: random.Random) -> None:
        self.crew = crew
        self.chance = chance
        self.struck: Counter[str] = Counter()
        self._paused: list[tuple[float, int]] = []

    def strikes(self) -> None:
        """Do something bad to one of those that run, and see to their number."""
        running = [worker for worker in self.crew.workers if worker.is_running]
        kind = self.chance.choice(
            ["kill", "terminate", "kill child", "pause", "pause child", "pause both"]
        )
        self._strike(self.chance.choice(running), kind)
        self.goes_on()
        for _ in range(WORKERS - sum(w.is_running for w in self.crew.workers)):
            self.crew.start(AGENT)

    def goes_on(self, *, all_of_them: bool = False) -> None:
        """Let those go on whose pause is over."""
        now = time.monotonic()
        over = [pid for ends, pid in self._paused if all_of_them or ends <= now]
        self._paused = [each for each in self._paused if each[1] not in over]
        for pid in over:
            tell(pid, signal.SIGCONT)

    def _strike(self, worker: Worker, kind: str) -> None:
        child = worker.child
        if child is None and kind not in {"kill", "terminate"}:
            return  # it starts another at this moment
        self.struck[kind] += 1
        match kind:
            case "kill":
                tell(worker.pid, signal.SIGKILL)
                worker.ends()
            case "terminate":
                tell(worker.pid, signal.SIGTERM)
                # A paused one hears of it when it goes on.
                tell(worker.pid, signal.SIGCONT)
            case "kill child":
                tell(child, signal.SIGKILL)
            case _:
                # Some longer than the visibility, twelve seconds here.
                ends = time.monotonic() + self.chance.choice([0.5, 2, 5, 14])
                for pid in (worker.pid, child):
                    if pid == child if kind == "pause child" else pid == worker.pid:
                        self._pause(pid, ends)
                if kind == "pause both":
                    self._pause(child, ends)

    def _pause(self, pid: int | None, ends: float) -> None:
        if pid is not None:
            tell(pid, signal.SIGSTOP)
            self._paused.append((ends, pid))


def tell(pid: int | None, number: signal.Signals) -> None:
    try:
        if pid is not None:
            os.kill(pid, number)
    except ProcessLookupError:
        pass


def test_each_run_ends_once_whatever_happens_to_its_workers(
    home: Home, mine: LocalStack, mine_till: Till, crew: Crew, full_size: bool
) -> None:
    play = Play(home=home, stack=mine, till=mine_till, crew=crew, agent=AGENT)
    runs, limit = (100, 280.0) if full_size else (20, 90.0)
    seed = int(os.environ.get("BELLHOP_SEED") or random.SystemRandom().randrange(10**6))
    misfortune = Misfortune(crew, random.Random(seed))  # noqa: S311 - to be repeated
    print(f"seed {seed}: {runs} runs of {STEPS} steps over {WORKERS} workers")
    for _ in range(WORKERS):
        crew.start(AGENT)
    with ThreadPoolExecutor(8) as pool:
        orders = list(pool.map(lambda _: play.rings(STEPS), range(runs)))

    began, left = time.monotonic(), list(orders)
    while left and time.monotonic() < began + limit:
        misfortune.strikes()
        time.sleep(PACE_SECONDS)
        left = [order for order in left if order.state not in {"SUCCEEDED", "DEAD"}]
    took = time.monotonic() - began
    misfortune.goes_on(all_of_them=True)
    time.sleep(2)

    states = Counter(order.state for order in orders)
    attempts = sorted(int(order.run.get("attempt", 0)) for order in orders)
    told = Counter(
        line["event_id"] for w in crew.workers for line in w.said("run succeeded")
    )
    digs = sum(len(order.digs) for order in orders)
    print(f"{took:.0f} s, misfortunes: {dict(misfortune.struck)}")
    print(f"states {dict(states)}, attempts {attempts}")
    print(f"steps begun {digs} for {runs * int(STEPS)}; workers {len(crew.workers)}")
    assert states == {"SUCCEEDED": runs}
    # In the seconds of the small size chance may meet idle workers alone.
    assert not full_size or max(attempts) > 1
    for order in orders:
        assert order.carts == dict.fromkeys(range(int(STEPS)), 1)
        assert order.repeated() == []
        # One that was killed right after it had ended could not say so.
        assert told[order.order.event_id] <= 1
    assert mine.dead_letters(AGENT) == 0
