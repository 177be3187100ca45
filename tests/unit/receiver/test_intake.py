"""What is looked at in which order, and what the sender hears."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

import pytest

from lambdas.shared.errors import Misconfigured, Unavailable
from tests.unit.receiver import signed
from tests.unit.receiver.conftest import Told, metrics
from tests.unit.receiver.door import SECRET, Door

GITHUB = signed.call("github")
FORGED = signed.call("github", tampered=True)
ID = "github:72d3162e-cc78-11e3-81ab-4c9367dc0958"


def test_new_event_is_accepted_and_its_repeat_is_not_stored_again() -> None:
    door = Door("github")

    first, again = door.knock(GITHUB), door.knock(GITHUB)

    assert (first.status, first.json) == (
        200,
        {"event_id": ID, "deduplicated": False},
    )
    assert (again.status, again.json) == (200, {"event_id": ID, "deduplicated": True})
    assert [event.body for event in door.accepted] == [GITHUB.body]


def test_name_of_the_source_is_the_prefix_whatever_the_sender() -> None:
    door = Door("github", name="github-eu")

    assert door.knock(GITHUB).json["event_id"].startswith("github-eu:")
    assert door.accepted[0].source == "github-eu"


def test_unknown_source_is_not_found() -> None:
    answer = Door("github").intake.answer(GITHUB.to_api_gateway("gitlab"))

    assert answer["statusCode"] == 404
    assert json.loads(answer["body"]) == {"error": "unknown_source"}


def test_address_is_checked_before_anything_else() -> None:
    door = Door("github", allow_cidrs=("198.51.100.0/24", "2001:db8::/32"))
    door.secret = Misconfigured("must not be asked for")
    broken = dataclasses.replace(FORGED, raw_body="=", base64=True)

    heard = door.knock(broken)

    assert (heard.status, heard.error) == (403, "not_allowed_ip")
    assert door.store.fetched == []


@pytest.mark.parametrize(
    ("source_ip", "is_allowed"),
    [
        ("198.51.100.9", True),
        ("::ffff:198.51.100.9", True),
        ("2001:db8::1", True),
        ("198.51.101.9", False),
        ("2001:db9::1", False),
        ("", False),
        ("198.51.100.9, 192.0.2.1", False),
        ("localhost", False),
    ],
)
def test_only_allowed_addresses_are_let_in(source_ip: str, is_allowed: bool) -> None:
    door = Door("github", allow_cidrs=("198.51.100.0/24", "2001:db8::/32"))

    heard = door.knock(dataclasses.replace(GITHUB, source_ip=source_ip))

    assert heard.status == (200 if is_allowed else 403)


@pytest.mark.parametrize("as_base64", [False, True])
def test_body_at_the_limit_is_accepted_and_one_byte_more_is_not(
    as_base64: bool,
) -> None:
    call = dataclasses.replace(GITHUB, base64=as_base64)
    size = len(GITHUB.body)

    assert Door("github", max_body_bytes=size).knock(call).status == 200
    heard = Door("github", max_body_bytes=size - 1).knock(call)
    assert (heard.status, heard.error) == (413, "body_too_large")


@pytest.mark.parametrize("raw", ["=", "é", "abc", "a b c d", "YQ==YQ==", "\ud800"])
def test_broken_base64_is_malformed(raw: str) -> None:
    door = Door("github")

    heard = door.knock(dataclasses.replace(GITHUB, raw_body=raw, base64=True))

    assert (heard.status, heard.error) == (400, "malformed")


def test_forger_learns_nothing_of_method_and_body() -> None:
    door = Door("github", max_body_bytes=1)
    odd = dataclasses.replace(FORGED, method="DELETE", body=b"not JSON")

    heard = door.knock(odd)

    assert (heard.status, heard.json) == (401, {"error": "bad_signature"})


def test_other_method_is_refused_after_verification() -> None:
    heard = Door("github").knock(dataclasses.replace(GITHUB, method="PUT"))

    assert (heard.status, heard.error) == (405, "method_not_allowed")
    assert heard.headers["allow"] == "POST"


def test_missing_delivery_id_is_refused() -> None:
    heard = Door("github").knock(GITHUB.without("X-GitHub-Delivery"))

    assert (heard.status, heard.error) == (400, "no_delivery_id")


@pytest.mark.parametrize(
    "secret",
    [
        Misconfigured("secret bellhop/github cannot be fetched"),
        "",
        '{"current": ""}',
        '{"previous": "x"}',
    ],
    ids=["missing", "empty", "empty current", "no current"],
)
def test_bad_secret_is_our_fault_and_named_in_the_log(secret: Any, told: Told) -> None:
    door = Door("github")
    door.secret = secret

    heard = door.knock(GITHUB)

    assert heard.status == 500
    (line,) = [x for x in told() if x.get("level") == "ERROR"]
    assert "bellhop/github" in line["why"]
    assert door.accepted == []


def test_secret_that_is_not_the_senders_form_is_our_fault(
    told: Told,
) -> None:
    door = Door("standard-webhooks")
    door.secret = "whsec_!!!"

    heard = door.knock(signed.call("standard-webhooks"))

    assert heard.status == 500
    (line,) = [x for x in told() if x.get("level") == "ERROR"]
    assert "bellhop/standard-webhooks" in line["why"]
    assert "!!!" not in json.dumps(line)


def test_unreachable_secret_is_503_and_never_401() -> None:
    door = Door("github")
    door.secret = Unavailable("Secrets Manager did not answer")

    assert door.knock(GITHUB).status == 503
    assert door.knock(FORGED).status == 503


def test_secret_changed_a_moment_ago_is_found_by_the_mismatch() -> None:
    door = Door("github")
    door.knock(GITHUB)
    door.secret = "ab" * 32

    heard = door.knock(signed.call("github", which="new", delivery_id="two"))

    assert heard.status == 200
    assert len(door.store.fetched) == 2


def test_flood_of_forgeries_costs_one_look_a_minute() -> None:
    door = Door("github")

    for _ in range(50):
        assert door.knock(FORGED).status == 401

    assert len(door.store.fetched) == 2
    assert door.ledger.calls == 0


def test_retired_secret_is_refused_at_its_end() -> None:
    door = Door("github")
    door.secret = json.dumps(
        {
            "current": "ab" * 32,
            "previous": SECRET,
            "previous_until": "2026-11-29T12:00:30Z",
        }
    )

    assert door.knock(GITHUB).status == 200
    door.clock.advance(30)
    assert door.knock(GITHUB).status == 401


def test_ledger_out_of_reach_is_503_and_the_repeat_is_new() -> None:
    door = Door("github")
    door.ledger.failures[0] = Unavailable("the ledger did not answer")

    assert (door.knock(GITHUB).status, door.accepted) == (503, [])
    assert door.knock(GITHUB).json == {"event_id": ID, "deduplicated": False}


def test_unexpected_error_leaks_nothing(told: Told) -> None:
    door = Door("github")
    door.ledger.failures[0] = KeyError(GITHUB.body.decode())

    heard = door.knock(GITHUB)

    assert (heard.status, heard.json) == (500, {"error": "internal"})
    (line,) = [x for x in told() if x.get("level") == "ERROR"]
    assert line["error"] == "KeyError"
    assert json.loads(GITHUB.body)["issue"]["title"] not in json.dumps(line)


def test_what_our_own_bot_caused_is_written_down_as_ignored() -> None:
    actor = json.loads(GITHUB.body)["sender"]["login"]
    door = Door("github", ignore_actors=("somebody", actor))

    heard = door.knock(GITHUB)

    assert heard.status == 200
    assert door.ledger.ignored == {ID}


@pytest.mark.parametrize("identity", ["body", "request"])
def test_chosen_identity_replaces_the_delivery_id(identity: Any) -> None:
    door = Door("github", identity=identity)
    replayed = GITHUB.having("X-GitHub-Delivery", "another")

    first, second = door.knock(GITHUB).json, door.knock(replayed).json

    if identity == "body":
        digest = hashlib.sha256(GITHUB.body).hexdigest()
        assert first["event_id"] == f"github:body-{digest}"
    # API Gateway gives a request its id; this double gives the same to both.
    assert second == {**first, "deduplicated": True}


def test_one_decision_is_one_log_line(told: Told) -> None:
    door = Door("github")
    door.knock(GITHUB)
    door.knock(GITHUB)
    door.knock(FORGED)

    lines = [line for line in told() if "_aws" not in line]

    assert [(line["message"], line.get("event_id")) for line in lines] == [
        ("event accepted", ID),
        ("event accepted", ID),
        ("request refused", None),
    ]
    assert [line.get("deduplicated") for line in lines] == [False, True, None]


def test_metrics_carry_exactly_the_agreed_dimensions(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "somebody-set-this")
    door = Door("github")
    for call in (GITHUB, GITHUB, FORGED):
        door.knock(call)
    door.intake.answer(FORGED.to_api_gateway("made-up-by-a-stranger"))

    found = metrics(told())

    spent = [dims for name, dims, _ in found if name == "ReceiverMilliseconds"]
    assert spent == [{}] * 4
    matched = ("SecretMatched", {"Source": "github", "Which": "current"}, [1])
    assert [x for x in found if x[0] != "ReceiverMilliseconds"] == [
        matched,
        ("EventsAccepted", {"Source": "github"}, [1]),
        matched,
        ("EventsDuplicate", {"Source": "github"}, [1]),
        ("EventsRefused", {"Source": "github", "Reason": "bad_signature"}, [1]),
        ("EventsRefused", {"Source": "unknown", "Reason": "unknown_source"}, [1]),
    ]


def test_request_that_api_gateway_would_never_make_is_500() -> None:
    intake = Door("github").intake

    for event in ({}, {"pathParameters": None}, {"pathParameters": "x"}):
        assert intake.answer(event)["statusCode"] == 404
    odd = {"pathParameters": {"source": "github"}}
    assert intake.answer(odd)["statusCode"] == 500
