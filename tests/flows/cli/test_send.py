"""`bellhop send` against the real receiver."""

from __future__ import annotations

import pytest

from tests.flows.cli.conftest import Stack


def test_sample_is_accepted_under_a_fresh_id(stack: Stack) -> None:
    first, second = stack.run("send", "github"), stack.run("send", "github")

    (one,), (two,) = first.json, second.json
    assert (first.code, second.code) == (0, 0)
    assert one["verdict"] == two["verdict"] == "accepted"
    assert one["event_id"] != two["event_id"]
    assert one["deduplicated"] is two["deduplicated"] is False


def test_duplicate_is_one_event(stack: Stack) -> None:
    answered = stack.run("send", "slack", "message", "--duplicate", "3")

    assert answered.code == 0
    assert [row["deduplicated"] for row in answered.json] == [False, True, True]
    assert len({row["event_id"] for row in answered.json}) == 1


def test_burst_is_that_many_events_each_once(stack: Stack) -> None:
    answered = stack.run("send", "billing", "--burst", "12", "--duplicate", "2")

    assert answered.code == 0
    assert len({row["event_id"] for row in answered.json}) == 12
    assert sum(row["deduplicated"] is False for row in answered.json) == 12


@pytest.mark.parametrize("how", ["--stale", "--tamper"])
def test_refusal_that_was_asked_for_is_a_success(stack: Stack, how: str) -> None:
    answered = stack.run("send", "slack", how)

    assert answered.code == 0
    assert [row["status"] for row in answered.json] == [401]


def test_unexpected_refusal_ends_with_1(stack: Stack) -> None:
    stack.run("secret", "rotate", "github", stdin="second\n")
    stack.pass_time(25 * 3600)

    answered = stack.run("send", "github", "--secret", "previous")

    assert answered.code == 1
    assert answered.json[0]["verdict"] == "unexpected"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["github", "--stale"], "knows no window"),
        (["github", "no.such"], "there are: issue_comment.created"),
        (["nobody"], "no source 'nobody' in fleet.toml"),
        (["github", "--secret", "previous"], "no previous secret"),
        (["github", "--url", "https://example.com/x"], "neither this machine"),
        (["github", "--url", "ftp://127.0.0.1"], "want http:// or https://"),
        (["github", "--url", "http://[::1"], "--url: Invalid IPv6 URL"),
    ],
)
def test_mistake_is_told_in_one_sentence(
    stack: Stack, words: list[str], told: str
) -> None:
    answered = stack.run("send", *words, text=True)

    assert answered.code == 2
    assert told in answered.err
    assert "Traceback" not in answered.err
    assert len(answered.err.splitlines()) == 1


def test_samples_are_listed(stack: Stack) -> None:
    answered = stack.run("send", "billing", "--list")

    assert {row["event"] for row in answered.json} >= {"charge.failed"}


def test_url_of_this_machine_takes_the_secret_from_a_variable(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_SECRET", "another")

    wrong = stack.run(
        *("send", "slack", "--url", f"{stack.url}/webhooks/slack"),
        *("--secret-value-from", "THE_SECRET"),
    )
    monkeypatch.setenv("THE_SECRET", "first-slack")
    right = stack.run(
        *("send", "slack", "--url", f"{stack.url}/webhooks/slack"),
        *("--secret-value-from", "THE_SECRET"),
    )

    assert (wrong.code, wrong.json[0]["error"]) == (1, "bad_signature")
    assert (right.code, right.json[0]["verdict"]) == (0, "accepted")


@pytest.mark.parametrize(
    ("options", "told"),
    [([], "Stack with id Nowhere does not exist"), (["--profile", "nobody"], "nobody")],
)
def test_stack_that_is_not_there_ends_with_3(
    stack: Stack, options: list[str], told: str
) -> None:
    answered = stack.run("send", "github", *options, name="Nowhere", text=True)

    assert answered.code == 3
    assert told in answered.err
    assert len(answered.err.splitlines()) == 1
