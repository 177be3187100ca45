"""The agents of the repository, run as they are, against services on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from agents import hello, issue_triage
from lambdas.shared import clock
from lambdas.shared.event import Content
from lambdas.shared.outside import WORLD_URL_VARIABLE
from lambdas.worker.claim import Verdict
from tests.fakes.services import serving
from tests.fakes.worker import ISSUE, TRIAGE, Rig
from tests.fakes.world import TOKEN, World

COMMENTS = "/repos/acme/app/issues/7/comments"
OPENED = replace(
    ISSUE,
    id="github:opened",
    content=Content(
        b'{"issue":{"title":"App crashes at start","body":null,"comments_url":'
        b'"https://api.github.com' + COMMENTS.encode() + b'"}}',
        "application/json",
    ),
)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    world = World()
    with serving(world):
        monkeypatch.setenv(WORLD_URL_VARIABLE, world.url)
        yield world


def deliver(agent: Any, times: int = 1) -> list[Verdict]:
    spec = replace(TRIAGE, secrets=("bellhop/github-token",))
    rig = Rig(agent, spec=spec, secret_of=lambda _: TOKEN)
    # The effects' own deadline is by the real clock: they wait for real answers.
    rig.clock.instant = clock.now()
    rig.ledger.accept(OPENED)
    return [rig.deliver(f"m{n}", event_id=OPENED.id) for n in range(times)]


def test_issue_is_commented_on_once_however_often_it_is_delivered(
    world: World,
) -> None:
    verdicts = deliver(issue_triage.run, times=3)

    assert verdicts == [Verdict.SUCCEEDED, *[Verdict.ACKNOWLEDGED] * 2]
    (comment,) = world.github.made[COMMENTS]
    assert "This looks like a bug." in comment["body"]


def test_hello_tells_the_other_service_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELLO_URL", "https://shop.example/hello")

    deliver(hello.run, times=2)

    assert world.shop.orders == [
        {"hello": "github", "kind": "issues.opened", "event_id": "github:opened"}
    ]
