"""What an agent may ask of its run, and what it is told when it may not."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agents import RetryLater
from lambdas.shared.effects import current_run
from lambdas.shared.errors import Unavailable
from lambdas.shared.event import Event
from lambdas.shared.observe import logger
from lambdas.worker.claim import Verdict
from tests.fakes.worker import TRIAGE, Rig, World


def dead_because(agent: Callable[[Event, Any], Any]) -> str:
    rig = Rig(agent)
    assert rig.deliver() is Verdict.DEAD
    assert rig.run.reason is not None
    return rig.run.reason.message


@pytest.mark.parametrize("first", ["step", "effect"])
@pytest.mark.parametrize("second", ["step", "effect"])
def test_name_is_used_once(first: str, second: str) -> None:
    def agent(event: Event, run: Any) -> None:
        for kind in (first, second):
            getattr(run, kind)("comment", lambda **_: None)

    assert "'comment' was used before in this run" in dead_because(agent)


@pytest.mark.parametrize("outer", ["step", "effect"])
def test_step_inside_a_step_is_refused(outer: str) -> None:
    def agent(event: Event, run: Any) -> None:
        def inner(**_: Any) -> None:
            run.step("inner", dict)

        getattr(run, outer)("outer", inner)

    why = dead_because(agent)

    assert "'inner' was asked for inside 'outer'" in why


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "\x00", None, 7], ids=repr)
def test_name_that_cannot_be_kept_is_refused(name: Any) -> None:
    assert "name" in dead_because(lambda _, run: run.step(name, dict))


@pytest.mark.parametrize("fails", [False, True], ids=["returns", "raises"])
@pytest.mark.parametrize("kind", ["step", "effect"])
def test_copy_that_is_forked_inside_writes_nothing(kind: str, fails: bool) -> None:
    """Both come back from it; only one of them is the run."""
    writers = multiprocessing.get_context("fork").SimpleQueue()

    def forks(**_: Any) -> str:
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        elif fails:
            raise RetryLater("in the copy")
        return "done"

    rig = Rig(lambda _, run: getattr(run, kind)("both", forks))
    update = rig.table.update

    def counted(*args: Any, **kwargs: Any) -> Any:
        writers.put(os.getpid())
        return update(*args, **kwargs)

    rig.table.update = counted

    assert rig.deliver() is Verdict.SUCCEEDED
    found = set()
    while not writers.empty():
        found.add(writers.get())
    assert found == {os.getpid()}


def test_arguments_may_bear_any_name() -> None:
    got = {}

    def fn(**kwargs: Any) -> None:
        got.update(kwargs)

    rig = Rig(lambda _, run: run.step("check", fn, name="a", fn="b", self="c"))

    assert rig.deliver() is Verdict.SUCCEEDED
    assert got == {"name": "a", "fn": "b", "self": "c"}


def test_effect_that_takes_no_operation_id_is_refused_before_it_is_marked() -> None:
    sent: list[str] = []

    def no_id(text: str) -> None:
        sent.append(text)

    rig = Rig(lambda _, run: run.effect("comment", no_id, "hi"))

    assert rig.deliver() is Verdict.DEAD
    assert sent == []
    assert rig.story.effects == ()
    assert rig.run.reason is not None
    assert "operation_id" in rig.run.reason.message


def test_step_after_the_run_has_ended_is_refused() -> None:
    kept: list[Any] = []
    rig = Rig(lambda _, run: kept.append(run))
    rig.deliver()

    with pytest.raises(Exception, match="after its run had ended"):
        kept[0].step("late", dict)

    assert rig.story.steps == ()


def test_steps_may_run_side_by_side_in_threads() -> None:
    barrier = threading.Barrier(4, timeout=5)

    def ask(number: int) -> int:
        barrier.wait()
        return number * number

    def agent(event: Event, run: Any) -> None:
        with ThreadPoolExecutor(4) as pool:
            found = pool.map(lambda n: run.step(f"ask-{n}", ask, n), range(4))
            assert list(found) == [0, 1, 4, 9]

    rig = Rig(agent)

    assert rig.deliver() is Verdict.SUCCEEDED
    assert len(rig.story.steps) == 4


def test_effect_finds_the_secrets_of_its_run() -> None:
    seen = []

    def post(*, operation_id: str) -> None:
        seen.append(current_run().secret("bellhop/token"))

    spec = replace(TRIAGE, secrets=("bellhop/token",))
    rig = Rig(lambda _, run: run.effect("post", post), spec=spec)

    assert rig.deliver() is Verdict.SUCCEEDED
    assert seen == ["value of bellhop/token"]


def test_secret_that_the_fleet_does_not_give_the_agent_is_refused() -> None:
    rig = Rig(lambda _, run: run.secret("bellhop/other"))

    assert rig.deliver() is Verdict.FAILED

    assert rig.run.reason is not None
    assert rig.run.reason.category == "setup"
    assert "agents.triage.secrets" in rig.run.reason.message


def test_secret_that_cannot_be_fetched_now_leaves_no_effect_in_doubt() -> None:
    world = World()

    def post(*, operation_id: str) -> None:
        current_run().secret("bellhop/token")
        world.post("hi", operation_id=operation_id)

    def unreachable(name: str) -> str:
        raise Unavailable("the store did not answer")

    spec = replace(TRIAGE, secrets=("bellhop/token",))
    rig = Rig(lambda _, run: run.effect("post", post), spec=spec, secret_of=unreachable)

    assert rig.deliver() is Verdict.FAILED
    assert [effect.status for effect in rig.story.effects] == ["RELEASED"]


def test_swallowed_stale_claim_is_not_taken_for_success() -> None:
    def agent(event: Event, run: Any) -> None:
        rig.clock.advance(61)
        try:
            run.step("classify", dict)
        except Exception:
            run.log.info("went on regardless")

    rig = Rig(agent)

    assert rig.deliver() is Verdict.STALE


def test_run_tells_who_and_when_it_is() -> None:
    seen = []

    def agent(event: Event, run: Any) -> None:
        seen.append((run.agent, run.attempt, run.stopping))
        seen.append(run.deadline)
        if run.attempt == 1:
            raise RetryLater("busy")

    rig = Rig(agent)
    rig.deliver()
    rig.deliver(receive_count=2)

    assert seen[::2] == [("triage", 1, False), ("triage", 2, False)]
    assert seen[1] == rig.clock() + timedelta(seconds=60)


def test_line_of_the_log_says_whose_it_is(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig(lambda _, run: run.log.info("issue triaged", label="bug"))

    rig.deliver()

    (line,) = [
        logger.registered_formatter.format(each)
        for each in caplog.records
        if each.message == "issue triaged"
    ]
    told = json.loads(line)
    assert (told["label"], told["agent"], told["attempt"]) == ("bug", "triage", 1)
    assert told["event_id"] == "github:72d3162e"
    assert told["location"].startswith("<lambda>:")


def test_costs_in_ledger_calls_are_as_promised() -> None:
    """Claim, read, finish; one more per step, two per effect."""
    world = World()
    rig = Rig(lambda *_: None)
    rig.table.calls.clear()
    rig.deliver()
    bare = list(rig.table.calls)

    def agent(event: Event, run: Any) -> None:
        run.step("classify", dict)
        run.effect("comment", world.post, "hi")

    rig = Rig(agent)
    rig.table.calls.clear()
    rig.deliver()

    assert bare == ["update", "get", "update"]
    assert rig.table.calls == ["update", "get", *["update"] * 3, "update"]


def test_agent_hears_what_its_calendar_said_since_it_began() -> None:
    heard: list[Any] = []

    def agent(event: Event, run: Any) -> None:
        heard.append(run.told())
        rig.ledger.tell(event.id, {"deadline": "2026-12-10T17:00:00Z"})
        heard.append(run.told())

    rig = Rig(agent)
    rig.deliver()

    assert heard == [None, {"deadline": "2026-12-10T17:00:00Z"}]
