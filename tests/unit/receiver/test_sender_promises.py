"""What one sender's module promises beyond what holds for all."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import urlencode

import pytest

from cli import signers
from cli.signers import circleci, github, intercom, line, mailgun, notion, slack, zoom
from cli.signers import microsoft_graph as graph
from cli.signers.draft import Delivery, Draft
from tests.unit.receiver import signed
from tests.unit.receiver.conftest import Told
from tests.unit.receiver.door import NOW, SECRET, Call, Door, Heard

FORM = "application/x-www-form-urlencoded"
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def draft(values: Any, **given: Any) -> Draft:
    body = values if isinstance(values, bytes) else json.dumps(values).encode()
    given = {"event": "x", "secret": SECRET, "at": NOW, "id": "72d3", **given}
    return Draft(body=body, **given)


def knock(door: Door, delivery: Delivery, **changes: Any) -> Heard:
    call = Call(
        headers=delivery.headers,
        body=delivery.body,
        method=delivery.method,
        query=delivery.query,
    )
    return door.knock(dataclasses.replace(call, **changes))


def test_github_form_is_read_through_and_ping_is_an_ordinary_kind() -> None:
    form = urlencode({"payload": json.dumps({"zen": "Keep it simple."})}).encode()
    door = Door("github")

    heard = knock(door, github.sign(draft(form, event="ping", media_type=FORM)))

    assert heard.status == 200
    (event,) = door.accepted
    assert (event.kind, event.body) == ("ping", form)
    assert event.payload == {"zen": "Keep it simple."}


def test_github_event_is_named_as_rules_want_it() -> None:
    door = Door("github")
    values = {
        "action": "opened",
        "issue": {"number": 42, "user": {"login": "bea"}},
        "repository": {"full_name": "cafe/till"},
        "sender": {"login": "bea"},
    }

    knock(door, github.sign(draft(values, event="issues")))

    (event,) = door.accepted
    assert (event.kind, event.actor) == ("issues.opened", "bea")
    assert event.thread == "cafe/till#42"
    assert event.facts == {
        "action": "opened",
        "repository": "cafe/till",
        "author": "bea",
    }


def test_slack_challenge_is_answered_after_verification_only() -> None:
    asked = {"type": "url_verification", "challenge": "3eZbrw1aB", "token": "x"}
    door, delivery = Door("slack"), slack.sign(draft(asked))

    heard = knock(door, delivery)

    assert (heard.status, heard.json) == (200, {"challenge": "3eZbrw1aB"})
    assert knock(door, delivery, body=delivery.body + b" ").status == 401
    assert door.accepted == []


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"command": "/order", "trigger_id": "13.1", "text": "x"}, "command"),
        (
            {"payload": '{"type": "block_actions", "trigger_id": "13.1"}'},
            "block_actions",
        ),
    ],
)
def test_slack_user_is_shown_nothing(fields: dict[str, str], kind: str) -> None:
    door = Door("slack")
    delivery = slack.sign(draft(urlencode(fields).encode(), media_type=FORM))

    heard = knock(door, delivery)

    assert (heard.status, heard.body) == (200, "")
    assert [(e.id, e.kind) for e in door.accepted] == [("slack:13.1", kind)]


def test_slack_retry_is_the_same_event() -> None:
    values = {
        "type": "event_callback",
        "event_id": "Ev17",
        "event": {"type": "app_mention", "user": "U1", "channel": "C1", "ts": "1.2"},
    }
    door, delivery = Door("slack"), slack.sign(draft(values))

    first = knock(door, delivery)
    retried = {**delivery.headers, "X-Slack-Retry-Num": "1"}
    again = knock(door, delivery, headers=retried)

    assert (first.json["event_id"], again.json["deduplicated"]) == ("slack:Ev17", True)
    assert door.accepted[0].kind == "app_mention"


def test_linear_time_is_the_one_inside_the_signed_body() -> None:
    old = b'{"type": "Issue", "action": "create", "webhookTimestamp": 1700000000000}'
    signature = hmac.new(SECRET.encode(), old, hashlib.sha256).hexdigest()
    call = Call(
        headers={
            "Linear-Signature": signature,
            "Linear-Delivery": "72d3",
            "Linear-Timestamp": str(int(NOW.timestamp() * 1000)),
        },
        body=old,
    )

    assert Door("linear").knock(call).error == "stale"


@pytest.mark.parametrize(
    "token", ["v0:1795953600:{}", "a b", "short", "", "x" * 65, None, 7, "é" * 9]
)
def test_zoom_signs_no_text_of_a_strangers_choice(token: Any) -> None:
    asked = {"event": "endpoint.url_validation", "payload": {"plainToken": token}}

    heard = Door("zoom").knock(Call(headers={}, body=json.dumps(asked).encode()))

    assert (heard.status, heard.error) == (401, "bad_signature")


def test_zoom_validation_is_answered() -> None:
    asked = {
        "event": "endpoint.url_validation",
        "payload": {"plainToken": "qgg8vlvZRS6UYooatFL8Aw"},
    }
    wanted = hmac.new(
        SECRET.encode(), b"qgg8vlvZRS6UYooatFL8Aw", hashlib.sha256
    ).hexdigest()

    unsigned = Delivery(headers={}, body=json.dumps(asked).encode())
    for delivery in (zoom.sign(draft(asked)), unsigned):
        assert knock(Door("zoom"), delivery).json["encryptedToken"] == wanted


def test_notion_token_is_shown_until_it_is_the_secret(told: Told) -> None:
    first = b'{"verification_token": "secret_tMrlL1qK5vuQAh1b6cZGhFCh"}'
    door = Door("notion")

    assert door.knock(Call(headers={}, body=first)).status == 200
    shown = [line.get("verification_token") for line in told()]
    assert "secret_tMrlL1qK5vuQAh1b6cZGhFCh" in shown

    door = Door("notion")
    door.secret = "secret_tMrlL1qK5vuQAh1b6cZGhFCh"
    assert door.knock(Call(headers={}, body=first)).status == 200
    assert not [line for line in told() if "verification_token" in line]
    # Anything beside the token must prove itself.
    more = b'{"verification_token": "secret_tMrl", "id": "1", "type": "x"}'
    assert door.knock(Call(headers={}, body=more)).status == 401
    signed_event = notion.sign(draft({"id": "1", "type": "x"}, secret=door.secret))
    capitals = {
        k: v.upper().replace("SHA", "sha") for k, v in signed_event.headers.items()
    }
    assert knock(door, signed_event, headers=capitals).status == 200


def test_graph_echoes_plain_text_and_wants_202() -> None:
    query = "validationToken=Validation%3a+Testing+%3Cb%3E"
    door = Door("microsoft-graph")

    greeting = door.knock(Call(headers={}, query=query))
    one = {"id": "1", "changeType": "created", "resource": "me"}
    accepted = knock(door, graph.sign(draft({"value": [one]})))

    assert (greeting.status, greeting.body) == (200, "Validation: Testing <b>")
    assert greeting.headers["content-type"].startswith("text/plain")
    assert (accepted.status, accepted.body) == (202, "")
    assert [event.id for event in door.accepted] == ["microsoft-graph:1"]


def test_graph_notification_does_not_vouch_for_its_neighbour() -> None:
    good, bad = {"id": "1", "clientState": SECRET}, {"id": "2", "clientState": "x"}
    for value in ([good, bad], [bad, good], [good, {"id": "3"}], [good, None], []):
        door = Door("microsoft-graph")

        heard = door.knock(Call(headers={}, body=json.dumps({"value": value}).encode()))

        assert heard.status == 401
        assert door.accepted == []


def test_meta_subscription_needs_its_verify_token() -> None:
    query = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
    door = Door("meta", options={"verify_token": "meatyhamhock"}, identity="body")
    unset = Door("meta", identity="body")

    good = door.knock(Call(headers={}, method="GET", query=f"{query}meatyhamhock"))

    assert (good.status, good.body) == (200, "1158201444")
    for other in ("", "x", "%C3%A9"):
        call = Call(headers={}, method="GET", query=query + other)
        assert door.knock(call).status == 401
        assert unset.knock(call).status == 401


def test_intercom_tests_are_answered_and_not_stored() -> None:
    door = Door("intercom")

    assert door.knock(Call(headers={}, method="HEAD")).status == 200
    assert (
        knock(door, intercom.sign(draft({"topic": "ping", "id": None}))).status == 200
    )
    assert door.accepted == []


def test_line_test_without_events_is_answered() -> None:
    door = Door("line")

    assert (
        knock(door, line.sign(draft({"destination": "U", "events": []}))).status == 200
    )
    assert door.accepted == []


def test_mailgun_signature_works_once() -> None:
    """It does not cover the event: another one under it must not get through."""
    door = Door("mailgun")
    delivery = mailgun.sign(draft({"event-data": {"event": "failed"}}))
    forged = json.loads(delivery.body)
    forged["event-data"] = {"event": "delivered"}

    first = knock(door, delivery)
    second = knock(door, delivery, body=json.dumps(forged).encode())

    assert (first.json["deduplicated"], second.json["deduplicated"]) == (False, True)
    assert [event.kind for event in door.accepted] == ["failed"]


def test_gitlab_secret_decides_the_scheme_and_not_the_request() -> None:
    values = {"object_kind": "push", "project": {"path_with_namespace": "cafe/till"}}
    door = Door("gitlab")
    door.secret = WHSEC
    delivery = signers.Signer("gitlab").sign(draft(values, secret=WHSEC))

    assert knock(door, delivery).status == 200
    assert knock(door, delivery, body=delivery.body + b" ").status == 401

    by_token = Door("gitlab")
    pretending = {**delivery.headers, "X-Gitlab-Token": SECRET}
    heard = knock(by_token, delivery, headers=pretending)
    # The signature is there, so it decides; a plain secret makes none.
    assert (heard.status, heard.error) == (401, "bad_signature")


def test_pagerduty_replay_cannot_take_another_id() -> None:
    door, call = Door("pagerduty"), signed.call("pagerduty")

    door.knock(call)
    again = door.knock(call.having("X-Webhook-Id", "another"))

    assert again.json["deduplicated"] is True


def test_circleci_rotates_by_a_list() -> None:
    delivery = circleci.sign(draft({"id": "1", "type": "workflow-completed"}))
    (good,) = (v for k, v in delivery.headers.items() if k == "Circleci-Signature")
    both = {**delivery.headers, "Circleci-Signature": f"v1=potato,{good}"}

    assert knock(Door("circleci"), delivery, headers=both).status == 200
