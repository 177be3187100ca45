"""The outside world: what happens, how often, and how services can be made to act."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from local.wire import Wire
from local.world import Answer, Behaviour, World

COMMENTS = "/api.github.com/repos/o/r/issues/1/comments"
OPERATION = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def world(tmp_path: Path) -> World:
    wire = tmp_path / "wire.jsonl"
    wire.touch()
    return World(wire)


def post(
    world: World, path: str, body: Any, *, key: str | None = None, **headers: str
) -> Answer:
    if key:
        headers["idempotency-key"] = key
    return world.act("POST", path, headers, json.dumps(body).encode())


def counts(world: World) -> list[int]:
    return [effect["count"] for effect in world.effects()]


def test_repeated_operation_is_answered_as_first_and_happens_once(world: World) -> None:
    first = post(world, "/pay.example/charges", {"amount": 5}, key=OPERATION)
    second = post(world, "/pay.example/charges", {"amount": 5}, key=OPERATION)

    assert second == first
    assert counts(world) == [1]
    assert world.effects()[0]["requests"] == 2


def test_requests_without_an_operation_are_effects_of_their_own(world: World) -> None:
    post(world, "/pay.example/charges", {"amount": 5})
    post(world, "/pay.example/charges", {"amount": 5})

    assert counts(world) == [1, 1]


def test_same_operation_on_another_path_is_another_effect(world: World) -> None:
    post(world, "/pay.example/charges", {}, key=OPERATION)
    post(world, "/pay.example/refunds", {}, key=OPERATION)

    assert counts(world) == [1, 1]


def test_racing_requests_of_one_operation_happen_once(world: World) -> None:
    start = threading.Barrier(8)

    def racing() -> None:
        start.wait()
        post(world, "/pay.example/charges", {}, key=OPERATION)

    threads = [threading.Thread(target=racing) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts(world) == [1]
    assert world.effects()[0]["requests"] == 8


def test_service_deaf_to_operation_ids_acts_each_time(world: World) -> None:
    world.behave(Behaviour(path="/pay.example", honours_keys=False))

    post(world, "/pay.example/charges", {}, key=OPERATION)
    post(world, "/pay.example/charges", {}, key=OPERATION)

    assert counts(world) == [2]


def test_refused_request_has_no_effect(world: World) -> None:
    world.behave(Behaviour(path="/pay.example", status=503, retry_after=7, times=1))

    refused = post(world, "/pay.example/charges", {}, key=OPERATION)
    taken = post(world, "/pay.example/charges", {}, key=OPERATION)

    assert (refused.status, refused.headers) == (503, {"Retry-After": "7"})
    assert taken.status == 200
    assert counts(world) == [1]


def test_refusal_is_told_in_the_service_s_own_word(world: World) -> None:
    world.behave(Behaviour(path="/pay.example", status=400, error="card_declined"))

    refused = post(world, "/pay.example/charges", {}, key=OPERATION)

    assert refused.body["error"] == "card_declined"


@pytest.mark.parametrize(
    "named", ["/pay.example", "pay.example", "https://pay.example"]
)
def test_service_is_named_by_its_path_or_its_address(world: World, named: str) -> None:
    world.behave(Behaviour(path=named, status=500))

    assert post(world, "/pay.example/charges", {}).status == 500


def test_nearest_behaviour_wins(world: World) -> None:
    world.behave(Behaviour(path="/pay.example", status=500))
    world.behave(Behaviour(path="/pay.example/charges", status=201))

    assert post(world, "/pay.example/charges", {}).status == 201
    assert post(world, "/pay.example/refunds", {}).status == 500


def test_reset_forgets_effects_and_behaviour(world: World) -> None:
    world.behave(Behaviour(path="/", status=500))
    world.reset()

    assert post(world, "/pay.example/charges", {}).status == 200
    world.reset()
    assert world.effects() == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (COMMENTS, {"body": f"thanks\n\n<!-- bellhop:{OPERATION} -->"}),
        (
            "/slack.com/api/chat.postMessage",
            {"metadata": {"event_payload": {"operation_id": OPERATION}}},
        ),
        ("/api.github.com/repos/o/r/check-runs", {"external_id": OPERATION}),
        (
            "/api.linear.app/graphql",
            {
                "query": "mutation Create { x }",
                "variables": {"input": {"id": "01234567-89ab-cdef-0123-456789abcdef"}},
            },
        ),
    ],
    ids=["github comment", "slack metadata", "github check run", "linear id"],
)
def test_operation_is_found_where_the_service_keeps_it(
    world: World, path: str, body: Any
) -> None:
    post(world, path, body)

    assert [effect["operation_id"] for effect in world.effects()] == [OPERATION]


def test_comments_can_be_looked_through_before_commenting_again(world: World) -> None:
    posted = post(world, COMMENTS, {"body": "thanks"})

    listed = world.read(f"{COMMENTS}?per_page=100")

    assert listed.body == [posted.body]
    assert listed.body[0]["body"] == "thanks"


def test_slack_history_lists_the_channel_newest_first(world: World) -> None:
    for channel, text in [("C1", "one"), ("C2", "other"), ("C1", "two")]:
        post(
            world, "/slack.com/api/chat.postMessage", {"channel": channel, "text": text}
        )

    history = world.read("/slack.com/api/conversations.history?channel=C1").body

    assert history["ok"] is True
    assert [message["text"] for message in history["messages"]] == ["two", "one"]


def test_linear_query_finds_a_comment_and_is_no_effect(world: World) -> None:
    entity = "01234567-89ab-cdef-0123-456789abcdef"
    look = {"query": "query Read { x }", "variables": {"id": entity}}
    make = {"query": "mutation Create { x }", "variables": {"input": {"id": entity}}}
    path = "/api.linear.app/graphql"

    before = post(world, path, look).body
    made = post(world, path, make).body
    after = post(world, path, look).body

    assert before["errors"][0]["message"].startswith("Entity not found")
    assert after["data"]["comment"] == made["data"]["commentCreate"]["comment"]
    assert counts(world) == [1]


def test_body_that_is_no_text_is_kept_as_best_it_can(world: World) -> None:
    answer = world.act("POST", "/odd.example", {}, b"\xff\x00")

    assert answer.status == 200
    assert counts(world) == [1]


def test_what_a_function_sends_is_noted_on_the_wire(tmp_path: Path) -> None:
    wire = Wire(path=tmp_path / "wire.jsonl")
    wire.path.touch()
    world = World(wire.path)

    post(world, "/pay.example/charges", {}, **{"x-bellhop-caller": "worker-a/42"})
    post(world, "/pay.example/charges", {})

    assert [(c.name, c.function, c.pid) for c in wire.calls()] == [
        ("world.POST", "worker-a", 42)
    ]


def test_published_text_is_read_as_it_is_each_look_counted(world: World) -> None:
    world.serve("/sns.example/key.pem", "-----BEGIN\n")

    first = world.read("/sns.example/key.pem?again=1")
    world.read("/sns.example/key.pem")

    assert first.encoded() == ("text/plain", b"-----BEGIN\n")
    assert counts(world) == [1, 1]
    world.reset()
    assert world.read("/sns.example/key.pem").body != b"-----BEGIN\n"


def test_published_text_obeys_the_behaviour_of_its_path(world: World) -> None:
    world.serve("/sns.example/key.pem", "x")
    world.behave(Behaviour(path="/sns.example", status=503, times=1))

    statuses = [world.read("/sns.example/key.pem").status for _ in range(2)]

    assert statuses == [503, 200]
    assert counts(world) == [1]
