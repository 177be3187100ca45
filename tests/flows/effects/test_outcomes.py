"""What a broken, slow, huge or odd answer means for an effect."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from agents.effects import github, http, outgoing
from lambdas.shared import clock
from lambdas.shared.effects import current_run
from lambdas.shared.errors import (
    GiveUp,
    InDoubt,
    Misconfigured,
    OutcomeUnknown,
    RetryLater,
)
from lambdas.shared.outside import address
from lambdas.shared.waiting import retry_after
from tests.fakes.services import CUT_AFTER_ACTING, Fault, Reply
from tests.fakes.world import OPERATION, TOKEN, Attempt, World

ORDERS = "https://shop.example/orders?key=hush"
COMMENTS = "https://api.github.com/repos/o/r/issues/7/comments"


def order(run: Attempt, **keywords: Any) -> Any:
    return run.send(http.post, ORDERS, {"sku": 1}, **keywords)


def test_post_carries_the_operation_id_and_returns_what_was_answered(
    world: World, run: Attempt
) -> None:
    result = order(run, headers={"X-Team": "a"}, secret="bellhop/shop-token")

    assert result == {"status": 201, "body": {"order": 1}}
    (request,) = world.requests
    assert request.headers["idempotency-key"] == OPERATION
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["x-team"] == "a"
    assert request.query == {"key": "hush"}


def test_post_in_doubt_is_sent_again_where_the_key_is_honoured(
    world: World, run: Attempt
) -> None:
    world.faults.append(CUT_AFTER_ACTING)

    with pytest.raises(OutcomeUnknown):
        run.effect(http.post, ORDERS, {"sku": 1}, repeatable=True)
    result = run.effect(http.post, ORDERS, {"sku": 1}, repeatable=True)

    assert result["body"] == {"order": 1}
    assert len(world.shop.orders) == 1


def test_post_in_doubt_is_not_sent_again_by_itself(world: World, run: Attempt) -> None:
    world.shop.honours_keys = False
    world.faults.append(CUT_AFTER_ACTING)

    for _ in range(3):
        with pytest.raises(InDoubt, match="bellhop resolve shop:1 tell"):
            run.effect(http.post, ORDERS, {"sku": 1})

    assert len(world.shop.orders) == 1


def test_answer_that_does_not_come_leaves_the_effect_in_doubt(
    world: World, run: Attempt
) -> None:
    run.seconds = 5
    world.faults.append(Fault(acts=True, stall_seconds=6))

    began = time.monotonic()
    with pytest.raises(OutcomeUnknown, match="broke off: ReadTimeout"):
        order(run)

    assert time.monotonic() - began < run.seconds
    assert len(world.shop.orders) == 1


def test_answer_that_drips_is_cut_before_the_run_ends(
    world: World, run: Attempt
) -> None:
    run.seconds = 5
    reply = Reply.of({"order": "x" * 500})
    world.faults.append(Fault(acts=True, reply=reply, drip_seconds=0.01))

    began = time.monotonic()
    with pytest.raises(OutcomeUnknown, match="too slowly"):
        order(run)

    assert time.monotonic() - began < run.seconds


def test_huge_answer_is_not_read_to_its_end(world: World, run: Attempt) -> None:
    """Read on, it would break off: the rest of what is announced never comes."""
    body = b" " * (outgoing.LARGEST_ANSWER_BYTES + 100_000)
    announced = {"content-length": "9999999999"}
    world.faults.append(Fault(acts=True, reply=Reply(headers=announced, body=body)))

    with pytest.raises(OutcomeUnknown, match="without readable JSON"):
        run.send(github.comment, COMMENTS, "hello")


def test_page_of_html_is_kept_out_of_the_message(world: World, run: Attempt) -> None:
    page = Reply(status=404, headers={"content-type": "text/html"}, body=b"<h1>No</h1>")
    world.faults.append(Fault(acts=False, reply=page))

    with pytest.raises(GiveUp) as raised:
        order(run)

    assert str(raised.value) == "shop.example answered 404: no message, text/html"


def test_address_of_a_post_stays_out_of_errors_and_logs(
    world: World, run: Attempt, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    world.faults.append(CUT_AFTER_ACTING)

    with pytest.raises(OutcomeUnknown) as raised:
        order(run, secret="bellhop/shop-token")
    order(run, secret="bellhop/shop-token")

    assert "hush" not in f"{raised.value!r} {raised.value.__cause__!r} {caplog.text}"
    assert TOKEN not in caplog.text


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("url", ["", "shop.example/x", "ftp://shop.example/x", "//x"])
def test_post_wants_a_whole_url(url: str, run: Attempt) -> None:
    with pytest.raises(GiveUp, match="whole http or https URL"):
        run.send(http.post, url, {})


@pytest.mark.parametrize("secret", ["", "two\nlines", "töken", "\x00"])
def test_secret_that_no_header_can_carry_is_the_operators_to_mend(
    secret: str, world: World, run: Attempt
) -> None:
    run.secrets["bellhop/github-token"] = secret

    with pytest.raises(Misconfigured, match="bellhop/github-token: want a token") as e:
        run.send(github.comment, COMMENTS, "hello")

    assert not secret or secret not in str(e.value)
    assert world.requests == []


@pytest.mark.usefixtures("world")
def test_header_that_cannot_be_sent_gives_up_without_telling_it(run: Attempt) -> None:
    with pytest.raises(GiveUp) as raised:
        order(run, headers={"x-key": "hush\r\nx-more: 1"})

    assert "hush" not in str(raised.value)
    assert raised.value.__cause__ is None


def test_redirect_to_another_host_is_not_followed(world: World, run: Attempt) -> None:
    reply = Reply.of({}, 307, location="https://evil.example/orders")
    world.faults.append(Fault(acts=False, reply=reply))

    with pytest.raises(GiveUp, match="another host"):
        order(run, secret="bellhop/shop-token")

    assert len(world.requests) == 1


def test_redirects_come_to_an_end(world: World, run: Attempt) -> None:
    reply = Reply.of({}, 308, location="/orders")
    world.faults.extend([Fault(acts=False, reply=reply)] * 10)

    with pytest.raises(GiveUp, match="redirects without end"):
        order(run)


def test_see_other_is_not_followed_by_a_second_post(world: World, run: Attempt) -> None:
    """A 302 may answer a request that was acted on."""
    reply = Reply.of({}, 302, location="/orders")
    world.faults.append(Fault(acts=True, reply=reply))

    with pytest.raises(OutcomeUnknown, match="answered 302"):
        order(run)

    assert len(world.shop.orders) == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 7 ", 7),
        ("999999999999999999", 11 * 3600),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
        ("Wed, 99 Foo 2026 00:00:00 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Fri, 01 Jan 2999 00:00:00 GMT", 11 * 3600),
    ],
)
def test_retry_after_is_read_or_ignored(text: str, seconds: int | None) -> None:
    wait = retry_after(text)

    assert wait == (None if seconds is None else timedelta(seconds=seconds))


def test_retry_after_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)

    wait = retry_after(date)

    assert wait is not None
    assert 85 < wait.total_seconds() <= 90


def test_effect_called_by_itself_says_what_it_needs() -> None:
    with pytest.raises(Misconfigured, match=r"needs its run: run\.effect"):
        github.comment(COMMENTS, "hello", operation_id=OPERATION)


@pytest.mark.usefixtures("world")
def test_secrets_of_a_run_end_with_its_effect(run: Attempt) -> None:
    order(run)

    with pytest.raises(Misconfigured):
        current_run()


def test_nothing_is_rewritten_without_a_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BELLHOP_WORLD_URL", raising=False)

    assert address("https://a.example/b?c=d") == "https://a.example/b?c=d"


def test_address_keeps_path_and_query_and_drops_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BELLHOP_WORLD_URL", "http://127.0.0.1:5000/")

    url = "https://user:pass@a.example:8443/b/c?d=e&f"

    assert address(url) == "http://127.0.0.1:5000/a.example:8443/b/c?d=e&f"


def test_a_look_that_fails_for_now_is_repeated_later(
    world: World, run: Attempt
) -> None:
    world.faults.append(Fault(acts=False, reply=Reply.of({}, 500)))

    with pytest.raises(RetryLater):
        run.send_again(github.comment, COMMENTS, "hello")

    assert world.asked("POST") == []


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_look_that_is_refused_leaves_the_doubt(
    status: int, world: World, run: Attempt
) -> None:
    world.faults.append(Fault(acts=False, reply=Reply.of({}, status)))

    with pytest.raises(InDoubt, match="looking told nothing"):
        run.send_again(github.comment, COMMENTS, "hello")

    assert world.asked("POST") == []


def test_one_clock_decides_how_long_to_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "clock"
    file.write_text("2026-01-01T00:00:00Z")
    monkeypatch.setenv(clock.CLOCK_FILE_VARIABLE, str(file))

    wait = retry_after("Thu, 01 Jan 2026 00:01:00 GMT")

    assert wait == timedelta(minutes=1)


def test_document_that_is_no_json_is_surely_not_sent(
    world: World, run: Attempt
) -> None:
    with pytest.raises(GiveUp, match="not JSON"):
        run.effect(http.post, ORDERS, {"sku": {1}})

    assert world.shop.orders == []
