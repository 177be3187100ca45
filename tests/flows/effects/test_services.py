"""What is particular to one service."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agents.effects import github, linear, slack, stripe
from lambdas.shared import clock
from lambdas.shared.errors import GiveUp, InDoubt, OutcomeUnknown, RetryLater
from tests.fakes.services import CUT_AFTER_ACTING, Fault, Reply
from tests.fakes.world import OPERATION, TOKEN, Attempt, World

REPOSITORY = "https://api.github.com/repos/o/r"
COMMENTS = f"{REPOSITORY}/issues/7/comments"
OTHER = "f" * 32


def test_github_comment_ends_in_an_invisible_marker(world: World, run: Attempt) -> None:
    run.send(github.comment, COMMENTS, "hello")

    (made,) = world.github.made["/repos/o/r/issues/7/comments"]
    assert made["body"] == f"hello\n\n<!-- bellhop:{OPERATION} -->"


def test_github_comment_of_another_effect_is_not_taken_for_ours(
    world: World, run: Attempt
) -> None:
    theirs = {"body": github.marker(OTHER), "updated_at": "2999-01-01T00:00:00Z"}
    world.github.made["/repos/o/r/issues/7/comments"].append(theirs)

    run.send_again(github.comment, COMMENTS, "hello")

    assert len(world.github.made["/repos/o/r/issues/7/comments"]) == 2


def test_github_comment_is_found_on_a_later_page(world: World, run: Attempt) -> None:
    noise = {"id": 1, "body": None, "updated_at": "2999-01-01T00:00:00Z"}
    world.github.made["/repos/o/r/issues/7/comments"].extend([noise] * 250)
    sent = run.send(github.comment, COMMENTS, "hello")

    found = run.send_again(github.comment, COMMENTS, "hello")

    assert found == sent
    assert [request.query.get("page") for request in world.asked("GET")] == [
        None,
        "2",
        "3",
    ]


def test_github_is_asked_only_for_comments_since_the_first_start(
    world: World, run: Attempt
) -> None:
    old = {"id": 1, "body": "", "updated_at": "2020-01-01T00:00:00Z"}
    world.github.made["/repos/o/r/issues/7/comments"].extend([old] * 2000)

    run.send_again(github.comment, COMMENTS, "hello")

    assert len(world.asked("GET")) == 1


def test_github_issue_with_too_many_comments_leaves_the_doubt(
    world: World, run: Attempt
) -> None:
    noise = {"id": 1, "body": "", "updated_at": "2999-01-01T00:00:00Z"}
    world.github.made["/repos/o/r/issues/7/comments"].extend([noise] * 1001)

    with pytest.raises(InDoubt, match="more than 1000"):
        run.send_again(github.comment, COMMENTS, "hello")

    assert world.asked("POST") == []


def test_github_repository_that_moved_is_followed(world: World, run: Attempt) -> None:
    world.github.moved["/repos/o/r/"] = "/repositories/1/"

    run.send(github.comment, COMMENTS, "hello")

    assert len(world.github.made["/repositories/1/issues/7/comments"]) == 1


def test_github_locked_issue_gives_up(world: World, run: Attempt) -> None:
    world.github.locked.add("/repos/o/r/issues/7/comments")

    with pytest.raises(GiveUp, match="403: Unable to create comment because issue"):
        run.send(github.comment, COMMENTS, "hello")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "30"}, 30),
        ({"x_ratelimit_remaining": "0", "x_ratelimit_reset": "4102444800"}, 11 * 3600),
        ({"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1"}, 0),
        ({"x_ratelimit_remaining": "0", "x_ratelimit_reset": "soon"}, 60),
        ({}, 60),
    ],
)
def test_github_rate_limit_is_no_refusal(
    headers: dict[str, str], seconds: int, world: World, run: Attempt
) -> None:
    message = {"message": "You have exceeded a secondary rate limit"}
    world.faults.append(Fault(acts=False, reply=Reply.of(message, 403, **headers)))

    with pytest.raises(RetryLater) as raised:
        run.send(github.comment, COMMENTS, "hello")

    assert raised.value.after == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/repos/o/r/issues/7/comments",
        "https://api.github.com.evil.example/x",
        "https://api.github.com@evil.example/x",
        "http://api.github.com/x",
        "",
    ],
)
def test_github_token_goes_to_github_alone(
    url: str, world: World, run: Attempt
) -> None:
    with pytest.raises(GiveUp, match=r"want a URL under https://api\.github\.com"):
        run.send(github.comment, url, "hello")

    assert world.requests == []


def test_github_check_run_of_another_operation_is_not_taken_for_ours(
    world: World, run: Attempt
) -> None:
    arguments = (REPOSITORY, "triage", "c0ffee")
    run.send(github.check_run, *arguments, title="t", summary="s")
    world.github.made["/repos/o/r/check-runs"][0]["external_id"] = OTHER

    run.send_again(github.check_run, *arguments, title="t", summary="s")

    assert [r["status"] for r in world.github.made["/repos/o/r/check-runs"]] == [
        "in_progress",
        "in_progress",
    ]


def test_slack_message_carries_the_operation_id_in_its_metadata(
    world: World, run: Attempt
) -> None:
    run.send(slack.post, "C024BE91L", "hello", blocks=[{"type": "divider"}])

    (message,) = world.slack.messages
    assert message["metadata"]["event_payload"] == {"operation_id": OPERATION}
    assert message["blocks"] == [{"type": "divider"}]


def test_slack_message_is_found_behind_newer_ones(world: World, run: Attempt) -> None:
    world.slack.largest_page = 15
    sent = run.send(slack.post, "C024BE91L", "hello")
    for number in range(40):
        world.slack.add("C024BE91L", f"noise {number}")

    assert run.send_again(slack.post, "C024BE91L", "hello") == sent
    assert len(world.asked("GET")) == 3


def test_slack_reply_is_looked_for_in_its_thread(world: World, run: Attempt) -> None:
    parent = world.slack.add("C024BE91L", "question")
    arguments = ("C024BE91L", parent["ts"], "answer")
    sent = run.send(slack.reply, *arguments)

    assert run.send_again(slack.reply, *arguments) == sent
    assert world.asked("GET")[0].path == "/api/conversations.replies"
    assert world.slack.messages[-1]["thread_ts"] == parent["ts"]


def test_slack_channel_known_by_name_only_leaves_the_doubt(
    world: World, run: Attempt
) -> None:
    assert run.send(slack.post, "#ops", "hello")["channel"] == "C024BE91L"

    with pytest.raises(InDoubt, match="channel_not_found"):
        run.send_again(slack.post, "#ops", "hello")

    assert len(world.slack.messages) == 1


def test_slack_update_is_simply_sent_again(world: World, run: Attempt) -> None:
    ts = world.slack.add("C024BE91L", "draft")["ts"]

    run.send(slack.update, "C024BE91L", ts, "final")
    run.send_again(slack.update, "C024BE91L", ts, "final")

    assert [message["text"] for message in world.slack.messages] == ["final"]
    assert world.asked("GET") == []


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        ("ratelimited", RetryLater),
        ("service_unavailable", RetryLater),
        ("request_timeout", RetryLater),
        ("internal_error", OutcomeUnknown),
        ("fatal_error", OutcomeUnknown),
        ("channel_not_found", GiveUp),
        ("not_in_channel", GiveUp),
        ("token_revoked", GiveUp),
    ],
)
def test_slack_says_no_with_status_200(
    error: str, meaning: type[Exception], world: World, run: Attempt
) -> None:
    reply = Reply.of({"ok": False, "error": error})
    world.faults.append(Fault(acts=False, reply=reply))

    with pytest.raises(meaning, match=error):
        run.send(slack.post, "C024BE91L", "hello")


def test_linear_comment_has_an_id_made_of_the_operation(
    world: World, run: Attempt
) -> None:
    made = run.send(linear.comment, "ENG-12", "hello", parent_id="p")

    assert uuid.UUID(made["id"]) == uuid.UUID(hex=OPERATION, version=4)
    assert world.linear.comments[made["id"]]["parentId"] == "p"


def test_linear_itself_refuses_a_second_comment(world: World, run: Attempt) -> None:
    run.send(linear.comment, "ENG-12", "hello")

    with pytest.raises(GiveUp, match="already exists"):
        run.send(linear.comment, "ENG-12", "hello")

    assert len(world.linear.comments) == 1


@pytest.mark.usefixtures("world")
def test_linear_unknown_issue_gives_up(run: Attempt) -> None:
    with pytest.raises(GiveUp, match="Entity not found: Issue"):
        run.send(linear.comment, "ENG-99", "hello")


def test_linear_rate_limit_comes_with_status_400(world: World, run: Attempt) -> None:
    reset = datetime.now(UTC) + timedelta(minutes=10)
    errors = [{"message": "slow", "extensions": {"code": "RATELIMITED"}}]
    reply = Reply.of(
        {"errors": errors},
        400,
        x_ratelimit_requests_reset=str(int(reset.timestamp() * 1000)),
    )
    world.faults.append(Fault(acts=False, reply=reply))

    with pytest.raises(RetryLater) as raised:
        run.send(linear.comment, "ENG-12", "hello")

    assert raised.value.after is not None
    assert 590 < raised.value.after.total_seconds() <= 600


@pytest.mark.parametrize(
    ("secret", "header"),
    [(TOKEN, TOKEN), ("lin_oauth_x", "Bearer lin_oauth_x")],
)
def test_linear_key_goes_bare_and_oauth_token_as_bearer(
    secret: str, header: str, world: World, run: Attempt
) -> None:
    run.secrets["bellhop/linear-token"] = secret
    world.linear.token = header

    run.send(linear.comment, "ENG-12", "hello")

    assert world.requests[0].headers["authorization"] == header


def test_stripe_params_are_flattened_as_its_forms_want(
    world: World, run: Attempt
) -> None:
    params = {"items": [{"price": "p1"}], "metadata": {"a": True}, "skip": None}

    made = run.send(stripe.request, "/subscriptions", params, version="2026-09-30")

    assert made["items[0][price]"] == "p1"
    assert made["metadata[a]"] == "true"
    assert "skip" not in made
    assert "client_secret" not in made
    assert world.requests[0].headers["stripe-version"] == "2026-09-30"
    assert world.requests[0].path == "/v1/subscriptions"


def test_stripe_declined_card_gives_up_and_is_remembered(
    world: World, run: Attempt
) -> None:
    world.stripe.declines = True
    with pytest.raises(GiveUp, match="402: Your card was declined"):
        run.send(stripe.refund, "pi_1")
    world.stripe.declines = False

    with pytest.raises(GiveUp, match="402: Your card was declined"):
        run.send(stripe.refund, "pi_1")

    assert world.stripe.made == []


@pytest.mark.parametrize(
    ("status", "kind"), [(409, "invalid_request_error"), (400, "idempotency_error")]
)
def test_stripe_conflict_of_keys_leaves_the_doubt(
    status: int, kind: str, world: World, run: Attempt
) -> None:
    reply = Reply.of({"error": {"type": kind, "message": "key in use"}}, status)
    world.faults.append(Fault(acts=False, reply=reply))

    with pytest.raises(OutcomeUnknown, match="key in use"):
        run.send(stripe.refund, "pi_1")


def test_stripe_is_not_asked_again_when_it_may_have_forgotten_the_key(
    world: World, run: Attempt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Past a day a second request is a second charge."""
    file = tmp_path / "clock"
    file.write_text("-86400")
    monkeypatch.setenv(clock.CLOCK_FILE_VARIABLE, str(file))
    world.faults.append(CUT_AFTER_ACTING)
    with pytest.raises(OutcomeUnknown):
        run.effect(stripe.refund, "pi_1")
    world.stripe.forget_keys()
    file.write_text("+0")

    with pytest.raises(InDoubt, match="longer ago than the other side remembers"):
        run.effect(stripe.refund, "pi_1")

    assert len(world.stripe.made) == 1
