"""The child's side: a run is claimed, watched, told to stop, and told of its lease."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lambdas.shared.adapters.lines import Lines, pair
from lambdas.shared.event import Event
from lambdas.worker.polling.child import Child, ChildHost, HiddenByWord, Told
from lambdas.worker.polling.hold import ticking
from lambdas.worker.runner import Runner
from tests.fakes.worker import TRIAGE, Rig, envelope, record


class Parent:
    """The supervisor's end of the line."""

    def __init__(self) -> None:
        self.lines, theirs = pair(5)
        self.theirs = Lines(theirs)
        self.gone = 0

    def hears(self) -> list[dict[str, Any]]:
        return self.lines.take(0.2) or []


@pytest.fixture
def parent() -> Iterator[Parent]:
    parent = Parent()
    yield parent
    parent.lines.close()
    parent.theirs.close()


def run(
    parent: Parent, agent: Callable[[Event, Any], Any], seconds: float = 85
) -> dict[str, Any]:
    """Let a child run one message by ``agent``; returns what it says at the end."""
    rig = Rig(agent)
    hidden = HiddenByWord()
    ports = rig.ports.__class__(
        **{name: getattr(rig.ports, name) for name in rig.ports.__slots__}
        | {"queue": hidden}
    )
    told = Told(parent.theirs, gone=lambda: None)
    runner = Runner(TRIAGE, ports, load=lambda *_: agent)
    child = Child("triage", parent.theirs, told, runner, hidden)
    line = {
        "run": record(envelope()),
        "leased_until": ticking() + seconds,
        "limit": ticking() + 3600,
    }
    return child.run(line)


def test_verdict_says_whether_the_message_may_be_deleted(parent: Parent) -> None:
    assert run(parent, lambda *_: None) == {
        "verdict": "succeeded",
        "is_done": True,
        "hide_seconds": None,
    }


def test_failed_run_says_when_its_message_is_due(parent: Parent) -> None:
    def fails(*_: Any) -> None:
        raise ValueError

    line = run(parent, fails)

    assert (line["verdict"], line["is_done"]) == ("failed", False)
    assert line["hide_seconds"] == 4


def test_claim_is_told_before_the_agent_begins(parent: Parent) -> None:
    heard: list[Any] = []

    run(parent, lambda *_: heard.extend(parent.hears()))

    assert heard[0]["claimed"] == "github:72d3162e"
    assert heard[0]["key"] == "triage"
    assert heard[0]["attempt"] == 1


def test_message_whose_hold_is_over_is_not_claimed(parent: Parent) -> None:
    """The child was paused since it was handed over: it may be another's."""
    line = run(parent, lambda *_: pytest.fail("it was run"), seconds=-1)

    assert (line["verdict"], line["is_done"]) == ("undecided", False)


def test_run_hears_that_the_worker_stops(parent: Parent) -> None:
    seen = []

    def agent(_: Event, run: Any) -> None:
        seen.append(run.stopping)
        parent.lines.send(stop=True)
        seen.extend([run.stopping, run.keep_going()])

    line = run(parent, agent)

    assert seen == [False, True, False]
    assert line["verdict"] == "failed"  # it has saved nothing


def test_run_that_saves_when_the_worker_stops_is_suspended(parent: Parent) -> None:
    def agent(_: Event, run: Any) -> None:
        parent.lines.send(stop=True)
        while run.keep_going():
            pass
        run.checkpoint({"next": 1})

    line = run(parent, agent)

    assert (line["verdict"], line["is_done"]) == ("suspended", True)


def test_signs_of_life_are_told_once_a_second(parent: Parent) -> None:
    def agent(_: Event, run: Any) -> None:
        for number in range(100):
            run.step(f"step-{number}", int)

    run(parent, agent)

    heard = parent.hears()
    assert 1 <= sum("alive" in line for line in heard) <= 5


def test_thread_that_outlives_its_run_gives_no_sign_of_life(
    parent: Parent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would keep the next run alive, which may hang."""
    monkeypatch.setattr("lambdas.worker.polling.child._SIGN_SECONDS", 0)
    runs: list[Any] = []
    run(parent, lambda _, run: runs.append(run))
    parent.hears()

    runs[0].log.info("still there")

    assert parent.hears() == []


def test_process_that_the_agent_forked_gives_no_sign_of_life(
    parent: Parent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lambdas.worker.polling.child._SIGN_SECONDS", 0)
    told = Told(parent.theirs, gone=lambda: None)
    host = ChildHost(parent.theirs, told, leased_until=0, limit=0)
    child = os.fork()
    if child == 0:
        host.alive()
        os._exit(0)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert parent.hears() == []


def test_lease_is_extended_before_a_step_looks_at_it(parent: Parent) -> None:
    """One thread that held the interpreter for longer than the lease."""
    told = Told(parent.theirs, gone=lambda: None)
    host = ChildHost(parent.theirs, told, leased_until=0, limit=0)
    rig = Rig(lambda *_: None)
    rig.deliver()
    (claim,) = rig.time.claims
    told.hold(claim)
    before = claim.lease.ends_ms
    parent.lines.send(lease=before + 90_000, until=ticking() + 90, token=claim.token)
    parent.lines.send(lease=before + 900_000, until=ticking() + 900, token="another's")

    host.alive()

    assert claim.lease.ends_ms == before + 90_000


def test_copy_that_the_agent_forks_hears_nothing(parent: Parent) -> None:
    """What is said to the run must not be taken away by it."""
    told = Told(parent.theirs, gone=lambda: os._exit(9))
    parent.lines.send(stop=True)
    child = os.fork()
    if child == 0:
        told.look()
        os._exit(1 if told.stopping else 0)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    told.look()
    assert told.stopping


def test_supervisor_that_is_gone_is_noticed_at_the_next_sign(parent: Parent) -> None:
    gone = []
    told = Told(parent.theirs, gone=lambda: gone.append(True))
    parent.lines.close()

    told.look()

    assert gone == [True]
