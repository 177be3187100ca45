"""Every ready-made effect, sent, lost, and sent again: it happened once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from agents.effects import github, google_calendar, http, linear, slack, stripe
from lambdas.shared.effects import repeat_of
from lambdas.shared.errors import GiveUp, OutcomeUnknown, RetryLater
from tests.fakes.google import CALENDAR
from tests.fakes.services import CUT_AFTER_ACTING, CUT_BEFORE_ACTING, Fault, Reply
from tests.fakes.world import OPERATION, TOKEN, Attempt, World

REPOSITORY = "https://api.github.com/repos/o/r"
COMMENTS = f"{REPOSITORY}/issues/7/comments"


@dataclass(frozen=True)
class Case:
    """An effect, its arguments, and what of it exists in its service."""

    effect: Callable[..., Any]
    args: tuple[Any, ...]
    made: Callable[[World], int]
    keywords: tuple[tuple[str, Any], ...] = ()

    def send(self, run: Attempt) -> Any:
        return run.send(self.effect, *self.args, **dict(self.keywords))

    def deliver(self, run: Attempt) -> Any:
        return run.effect(self.effect, *self.args, **dict(self.keywords))

    def send_again(self, run: Attempt) -> Any:
        return run.send_again(self.effect, *self.args, **dict(self.keywords))


def on_github(path: str) -> Callable[[World], int]:
    return lambda world: len(world.github.made[f"/repos/o/r{path}"])


def on_slack(world: World) -> int:
    return len(world.slack.messages)


def in_google(name: str) -> Callable[[World], int]:
    """Count how often the entry was written, but for the one that was there before."""
    return lambda world: world.google.written.count(name)


DAY = {"date": "2026-12-28"}
CASES = [
    Case(
        google_calendar.create,
        (CALENDAR, {"summary": "Close", "start": DAY, "end": DAY}),
        in_google(OPERATION),
    ),
    Case(
        google_calendar.update,
        (CALENDAR, "board", {"start": DAY, "end": DAY}),
        in_google("board"),
    ),
    Case(github.comment, (COMMENTS, "hello"), on_github("/issues/7/comments")),
    Case(
        github.review, (f"{REPOSITORY}/pulls/7", "fine"), on_github("/pulls/7/reviews")
    ),
    Case(
        github.check_run,
        (REPOSITORY, "triage", "c0ffee"),
        on_github("/check-runs"),
        (("title", "Triage"), ("summary", "ok"), ("conclusion", "success")),
    ),
    Case(slack.post, ("C024BE91L", "hello"), on_slack),
    Case(slack.reply, ("C024BE91L", "1.000001", "hello"), on_slack),
    Case(linear.comment, ("ENG-12", "hello"), lambda world: len(world.linear.comments)),
    Case(
        stripe.charge,
        (500, "eur"),
        lambda world: len(world.stripe.made),
        (("customer", "cus_1"), ("payment_method", "pm_1")),
    ),
    Case(stripe.refund, ("pi_1",), lambda world: len(world.stripe.made)),
    Case(
        stripe.request,
        ("customers", {"name": "Ada"}),
        lambda world: len(world.stripe.made),
    ),
]

every_effect = pytest.mark.parametrize(
    "case",
    CASES,
    ids=lambda case: f"{case.effect.__module__[15:]}.{case.effect.__name__}",
)

HTML_PAGE = Reply(
    status=502, headers={"content-type": "text/html"}, body=b"<h1>Bad gateway</h1>"
)
IN_DOUBT = {
    "cut before acting": CUT_BEFORE_ACTING,
    "cut after acting": CUT_AFTER_ACTING,
    "500 after acting": Fault(acts=True, reply=Reply.of({"error": "oops"}, 500)),
    "502 page before acting": Fault(acts=False, reply=HTML_PAGE),
    "200 page of a proxy": Fault(
        acts=True, reply=Reply(headers={"content-type": "text/html"}, body=b"<h1>Hi")
    ),
}


@every_effect
def test_effect_happens_and_tells_what_was_made(
    case: Case, world: World, run: Attempt
) -> None:
    result = case.send(run)

    assert case.made(world) == 1
    assert result.get("id") or result["ts"]


@every_effect
@pytest.mark.parametrize("fault", IN_DOUBT.values(), ids=IN_DOUBT)
def test_effect_in_doubt_happens_once(
    case: Case, fault: Fault, world: World, run: Attempt
) -> None:
    world.faults.append(fault)

    with pytest.raises(OutcomeUnknown):
        case.deliver(run)
    result = case.deliver(run)

    assert case.made(world) == 1
    assert result.get("id") or result["ts"]
    assert case.deliver(run) == result


@every_effect
def test_effect_refused_for_now_is_sent_by_the_next_attempt_without_a_look(
    case: Case, world: World, run: Attempt
) -> None:
    world.faults.append(Fault(acts=False, reply=Reply.of({}, 503)))

    with pytest.raises(RetryLater):
        case.deliver(run)
    case.deliver(run)

    assert case.made(world) == 1
    assert len(world.requests) == 2


@every_effect
def test_effect_in_doubt_stays_so_while_its_service_is_down(
    case: Case, world: World, run: Attempt
) -> None:
    """A refusal of the second request says nothing about the first."""
    down = Fault(acts=False, reply=Reply.of({}, 503))
    world.faults.extend([CUT_AFTER_ACTING, down])

    with pytest.raises(OutcomeUnknown):
        case.deliver(run)
    with pytest.raises(RetryLater):
        case.deliver(run)
    case.deliver(run)

    assert case.made(world) == 1


@every_effect
def test_result_is_the_same_whether_sent_or_found(
    case: Case, world: World, run: Attempt
) -> None:
    assert case.send(run) == case.send_again(run)
    assert case.made(world) == 1


@every_effect
@pytest.mark.parametrize("status", [408, 425, 429, 503])
def test_refusal_for_now_is_retried_after_the_time_asked_for(
    case: Case, status: int, world: World, run: Attempt
) -> None:
    reply = Reply.of({"message": "slow down"}, status, retry_after="17")
    world.faults.append(Fault(acts=False, reply=reply))

    with pytest.raises(RetryLater) as raised:
        case.send(run)

    assert raised.value.after is not None
    assert raised.value.after.total_seconds() == 17
    assert raised.value.downstream in {"github", "google", "slack", "linear", "stripe"}
    assert case.made(world) == 0


@every_effect
@pytest.mark.parametrize("status", [400, 404, 422])
def test_refusal_for_good_gives_up_in_the_words_of_the_service(
    case: Case, status: int, world: World, run: Attempt
) -> None:
    reply = Reply.of({"message": "no such thing"}, status)
    world.faults.append(Fault(acts=False, reply=reply))

    with pytest.raises(GiveUp, match=f"{status}: no such thing"):
        case.send(run)


@every_effect
def test_refused_token_gives_up_without_telling_it(
    case: Case, world: World, run: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    echo = Reply.of({"message": f"bad token '{TOKEN}', try another"}, 401)
    world.faults.append(Fault(acts=False, reply=echo))

    with pytest.raises(GiveUp, match="bad token") as raised:
        case.send(run)

    assert TOKEN not in str(raised.value)
    assert raised.value.__cause__ is None
    assert TOKEN not in caplog.text


@every_effect
def test_service_out_of_reach_is_tried_later(
    case: Case, run: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BELLHOP_WORLD_URL", "http://127.0.0.1:1")

    with pytest.raises(RetryLater, match="could not be reached") as raised:
        case.send(run)

    # The cause would hold the request, and so the token.
    assert raised.value.__cause__ is None


@every_effect
def test_nothing_is_sent_when_the_run_is_about_to_end(
    case: Case, world: World, run: Attempt
) -> None:
    run.seconds = 1.2

    with pytest.raises(RetryLater, match="about to end"):
        case.send(run)

    assert world.requests == []


@every_effect
def test_first_attempt_needs_no_look(case: Case, world: World, run: Attempt) -> None:
    case.send(run)

    assert len(world.requests) == 1


def test_post_to_an_unknown_service_is_not_repeatable_by_itself() -> None:
    assert repeat_of(http.post) is None
