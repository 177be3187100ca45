"""Slack may refuse, stall or be gone: the digest is never lost without a word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lambdas.dlq_digest.tell import Slack, Teller
from lambdas.shared.errors import Misconfigured, Unavailable
from tests.fakes.letters import FakeMail, FakeSlack, answer, ok

HOOK = "https://hooks.slack.com/services/T0/B0/made-up"
MESSAGE = {"text": "3 dead letters", "blocks": [{"type": "divider"}]}


def slack(
    post: FakeSlack, waits: list[float], secret: str = HOOK, channel: str | None = None
) -> Slack:
    return Slack(post, waits.append, lambda: secret, channel)


def test_webhook_is_given_the_message() -> None:
    post = FakeSlack()

    slack(post, []).send(MESSAGE)

    assert (post.urls, post.posted) == ([HOOK], [MESSAGE])


def test_bot_speaks_in_the_channel_of_the_fleet() -> None:
    post = FakeSlack([answer(200, '{"ok": true}')])

    slack(post, [], secret="xoxb-made-up", channel="#ops").send(MESSAGE)

    assert post.urls == ["https://slack.com/api/chat.postMessage"]
    assert post.posted == [{**MESSAGE, "channel": "#ops"}]
    assert post.headers[0]["authorization"] == "Bearer xoxb-made-up"


@pytest.mark.parametrize(
    "passing",
    [
        answer(500, "server_error"),
        answer(503, ""),
        answer(200, '{"ok": false, "error": "internal_error"}'),
        Unavailable("no answer"),
    ],
    ids=["500", "503", "internal", "nobody"],
)
def test_what_passes_is_waited_for(passing: object) -> None:
    post = FakeSlack([passing, passing])  # type: ignore[list-item]
    waits: list[float] = []

    slack(post, waits).send(MESSAGE)

    assert post.posted == [MESSAGE] * 3
    assert waits == [2, 4]


def test_slack_says_itself_how_long_to_wait() -> None:
    post = FakeSlack([answer(429, "", retry_after="30")])
    waits: list[float] = []

    slack(post, waits).send(MESSAGE)

    assert waits[0] == 30


def test_endless_wait_is_not_waited_for() -> None:
    post = FakeSlack([answer(429, "", retry_after="86400")])
    waits: list[float] = []

    slack(post, waits).send(MESSAGE)

    assert max(waits) <= 60


def test_slack_that_stays_down_makes_the_call_fail() -> None:
    post = FakeSlack([answer(500, "")] * 9)

    with pytest.raises(Unavailable, match="Slack answered 500"):
        slack(post, []).send(MESSAGE)


@pytest.mark.parametrize(
    "refusal",
    [
        answer(400, "invalid_blocks"),
        answer(400, "invalid_payload"),
        answer(200, '{"ok": false, "error": "invalid_blocks"}'),
        answer(200, '{"ok": false, "error": "msg_too_long"}'),
    ],
    ids=["webhook", "payload", "bot", "long"],
)
def test_refused_form_is_told_in_plain_text(refusal: object) -> None:
    post = FakeSlack([refusal, ok()])  # type: ignore[list-item]

    slack(post, []).send(MESSAGE)

    assert post.posted == [MESSAGE, {"text": "3 dead letters"}]


@pytest.mark.parametrize(
    ("told", "secret", "channel", "why"),
    [
        (answer(404, "no_service"), HOOK, None, "no_service"),
        (answer(403, "action_prohibited"), HOOK, None, "action_prohibited"),
        (
            answer(200, '{"ok": false, "error": "channel_not_found"}'),
            "xoxb-made-up",
            "#gone",
            "channel_not_found",
        ),
        (ok(), "xoxb-made-up", None, "digest.channel"),
        (ok(), "d41d8cd98f00b204", None, "neither an incoming webhook"),
    ],
    ids=["revoked", "prohibited", "channel", "no channel", "random"],
)
def test_what_an_operator_must_mend_is_said_and_not_repeated(
    told: object, secret: str, channel: str | None, why: str
) -> None:
    post = FakeSlack([told])  # type: ignore[list-item]

    with pytest.raises(Misconfigured, match=why) as caught:
        slack(post, [], secret=secret, channel=channel).send(MESSAGE)

    assert len(post.posted) <= 1
    assert secret not in str(caught.value)


def test_mail_goes_out_even_when_slack_does_not_take_it() -> None:
    mail = FakeMail()
    teller = Teller(slack(FakeSlack([answer(404, "no_service")]), []), mail)

    with pytest.raises(Misconfigured):
        teller.tell("3 dead letters", "all of it", MESSAGE)

    ((subject, text),) = mail.sent
    assert subject == "3 dead letters"
    assert text.startswith("Slack did not take this")
    assert text.endswith("all of it")


def test_missing_secret_is_told_by_mail_and_fails() -> None:
    def missing() -> str:
        raise Misconfigured("secret bellhop/digest cannot be fetched")

    mail = FakeMail()
    reader: Callable[[], str] = missing
    teller = Teller(Slack(FakeSlack(), lambda _: None, reader, None), mail)

    with pytest.raises(Misconfigured, match="bellhop/digest"):
        teller.tell("3 dead letters", "all of it", MESSAGE)

    assert "bellhop/digest" in mail.sent[0][1]
