"""A run whose message is gone, and that nothing brings back, is taken up by name."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.replaying.choose import Choice, Item, choose
from cli.replaying.job import Job
from cli.replaying.places import Places
from cli.replaying.send import Sender
from cli.target import Target
from lambdas.shared.errors import RetryLater
from lambdas.shared.story import State
from lambdas.worker.claim import Verdict
from tests.fakes.worker import ISSUE, Rig


class Stack:
    """What a replay needs of a deployed stack, over the ledger of a rig."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.table, self.ledger, self.now = rig.table, rig.ledger, rig.clock
        self.fleet = SimpleNamespace(agents={rig.spec.name: rig.spec})
        self.sent: list[dict[str, Any]] = []

    def client(self, _: str) -> Any:
        def send_message(*, QueueUrl: str, MessageBody: str) -> None:  # noqa: N803
            self.sent.append({"to": QueueUrl, **json.loads(MessageBody)})

        return SimpleNamespace(send_message=send_message)

    def chosen(self, choice: Choice) -> list[Item]:
        return choose(cast("Target", self), choice, self.now()).items

    def replays(self, choice: Choice) -> Sender:
        sender = Sender(
            target=cast("Target", self),
            job=Job(id="job", choice=choice, at=self.now()),
            places=cast("Places", SimpleNamespace(queue=str)),
            per_second=1000,
            most_failures=5,
        )
        sender.send(self.chosen(choice))
        return sender


BY_NAME = Choice(ids=(ISSUE.id,), again=True)


def stranded(state: State) -> Stack:
    """A run in ``state`` whose message is no more."""

    def agent(_: Any, run: Any) -> None:
        if run.attempt > 1:
            return
        if state is State.FAILED:
            raise RetryLater("later", after=timedelta(minutes=1))
        if state is State.SUSPENDED:
            run.checkpoint(1)
            rig.time.stopping = True
            run.keep_going()
        if state is State.PROCESSING:
            rig.table.failures.append(SystemExit())

    rig = Rig(agent)
    if state is State.PROCESSING:
        with pytest.raises(SystemExit):
            rig.deliver()
        rig.table.failures.clear()
    else:
        rig.deliver()
    rig.time.stopping = False
    assert rig.run.state is state
    return Stack(rig)


@pytest.mark.parametrize("state", [State.PROCESSING, State.FAILED, State.SUSPENDED])
def test_run_whose_message_is_gone_is_taken_up_by_name(state: State) -> None:
    stack = stranded(state)
    stack.now.advance(stack.rig.spec.visibility_seconds + 60 + 301)

    assert stack.replays(BY_NAME).tally.sent == 1

    (sent,) = stack.sent
    told = {name: sent["detail"][name] for name in ("generation", "effects_generation")}
    assert stack.rig.deliver("m2", **told) is Verdict.SUCCEEDED
    assert stack.rig.deliver("m1") is Verdict.ACKNOWLEDGED


@pytest.mark.parametrize("state", [State.PROCESSING, State.FAILED, State.SUSPENDED])
def test_run_whose_message_may_still_come_is_left(state: State) -> None:
    stack = stranded(state)
    stack.now.advance(stack.rig.spec.visibility_seconds)

    assert stack.chosen(BY_NAME) == []


def test_run_that_is_not_named_is_left_to_its_message() -> None:
    """It may wait behind many; then it goes on, where a replay would begin anew."""
    stack = stranded(State.SUSPENDED)
    since = stack.rig.clock.ms - 86_400_000
    stack.now.advance(86_400)

    assert stack.chosen(Choice(again=True, accepted_from=since)) == []
