"""Every captured signed request gets its verdict from the real handler."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lambdas.receiver import handler
from lambdas.shared import senders
from lambdas.shared.fleet import Generic
from lambdas.shared.values import instant
from tests import real_data
from tests.unit.receiver.door import NOW, Call, Door, Heard

Vector = Mapping[str, Any]

# Senders of the vectors that have no module, as a source's own keys describe them.
GENERIC = {
    "hmac-sha1-hex-list": Generic(algorithm="sha1", signature_header="X-Signature"),
    "hmac-sha256-hex-list": Generic(algorithm="sha256", signature_header="X-Signature"),
    "hmac-sha1-hex-body+date": Generic(
        algorithm="sha1",
        signature_header="X-Signature",
        signed="{body}{timestamp}",
        timestamp_header="Date",
    ),
}
IMPLEMENTED = [
    v
    for v in real_data.vectors()
    if v["sender"] in senders.names() or v["scheme"] in GENERIC
]

# Signed where they are real: Slack, Discord and SNS have tests of their own.
SIGNED = {"slack", "discord", "aws-sns"}
HANDSHAKES = [
    case
    for case in real_data.handshakes()
    if case["sender"] in senders.names() and case["sender"] not in SIGNED
]


class Context:
    function_name = "receiver"
    memory_limit_in_mb = 1769
    invoked_function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:receiver"
    aws_request_id = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"


@pytest.mark.real_data
@pytest.mark.parametrize("as_base64", [False, True], ids=["text", "base64"])
@pytest.mark.parametrize("vector", IMPLEMENTED, ids=lambda v: v["id"])
def test_captured_request_gets_its_verdict(
    vector: Vector, as_base64: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    generic = GENERIC.get(vector["scheme"])
    name = "generic" if generic else vector["sender"]
    door = Door(
        name,
        generic=generic,
        identity=None if senders.traits(name).has_delivery_id else "body",
        public_url=(vector["url"] or "").partition("?")[0] or None,
        tolerance_seconds=vector["tolerance_s"] or None,
        options=options(vector),
    )
    door.https.pages |= published(vector)
    secrets = [vector["secret"], *(vector.get("additional_secrets") or [])]
    door.secret = (
        secrets[0] or ""
        if len(secrets) == 1
        else json.dumps({"current": secrets[0], "previous": secrets[1]})
    )
    door.clock.at = judged_at(vector)
    if not as_base64 and not is_text(body(vector)):
        pytest.fail("API Gateway would not send this as text: judge it as base64")

    heard = knock(door, request(vector, as_base64=as_base64), monkeypatch)

    real_data.used("vectors")
    if vector["valid"]:
        assert heard.status not in (401, 500, 503), heard
    elif secrets[0] == "":
        assert heard.status == 500, "an empty secret is our fault"
    else:
        assert heard.status in (400, 401), heard
        assert door.accepted == []


def test_vectors_of_fourteen_senders_and_more_were_judged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    counts = Counter(v["sender"] for v in IMPLEMENTED)

    with capsys.disabled():
        print("\nvectors judged:", dict(sorted(counts.items())))  # noqa: T201
    assert len(counts) >= 14 or real_data.ROOT is None


@pytest.mark.real_data
@pytest.mark.parametrize("case", HANDSHAKES, ids=lambda c: c["id"])
def test_handshake_is_answered_and_not_stored(
    case: Vector, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {k: v for k, v in case["config"].items() if k != "secret"}
    door = Door(case["sender"], options=options)
    door.secret = case["config"].get("secret", "unused")
    asked, wanted = case["request"], case["expected"]
    call = Call(
        headers=asked["headers"],
        body=base64.b64decode(asked["body_b64"] or ""),
        method=asked["method"],
        query=asked["url"].partition("?")[2],
    )

    heard = knock(door, call, monkeypatch)

    assert heard.status == wanted["status"]
    assert heard.body == wanted.get("body", heard.body)
    if "json" in wanted:
        assert heard.json == wanted["json"]
    if "content_type" in wanted:
        assert heard.headers["content-type"].startswith(wanted["content_type"])
    assert door.accepted == []


def test_unsigned_slack_handshake_is_refused(
    fixtures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slack signs it: to answer a stranger would help to take an address over."""
    cases = json.loads((fixtures / "vectors/handshakes.json").read_text("utf-8"))
    (case,) = (c for c in cases if c["sender"] == "slack")
    asked = Call(
        headers=case["request"]["headers"],
        body=base64.b64decode(case["request"]["body_b64"]),
    )

    heard = knock(Door("slack"), asked, monkeypatch)

    assert (heard.status, heard.json) == (401, {"error": "bad_signature"})


def knock(door: Door, call: Call, monkeypatch: pytest.MonkeyPatch) -> Heard:
    monkeypatch.setattr(handler, "_intake", lambda: door.intake)
    answer = handler.handle(call.to_api_gateway(door.source.name), Context())  # type: ignore[arg-type]
    return Heard(answer["statusCode"], answer["headers"], answer["body"])


def request(vector: Vector, *, as_base64: bool) -> Call:
    return Call(
        headers=vector["headers"],
        body=body(vector),
        method=vector["method"],
        query=(vector["url"] or "").partition("?")[2],
        base64=as_base64,
    )


def options(vector: Vector) -> dict[str, Any]:
    """Return what the source's table would say of the vector's sender."""
    match vector["sender"]:
        case "aws-sns":
            return {"topics": [vector["headers"]["x-amz-sns-topic-arn"]]}
        case "paypal":
            return {"webhook_id": vector["webhook_id"]}
        case "google-pubsub":
            account = vector["service_account_email"]
            return {"service_account": account, "audience": vector["audience"]}
    return {}


def published(vector: Vector) -> dict[str, bytes]:
    """Return what the sender published, by address."""
    match vector["sender"]:
        case "aws-sns":
            said = json.loads(body(vector))
            certificate = vector["certificate_pem"].encode()
            yes = {said["SubscribeURL"]: b"<yes/>"} if "SubscribeURL" in said else {}
            return {said["SigningCertURL"]: certificate, **yes}
        case "paypal":
            url = vector["headers"]["PAYPAL-CERT-URL"]
            return {url: vector["certificate_pem"].encode()}
        case "google-pubsub":
            jwks = json.dumps(vector["jwks"]).encode()
            return {"https://www.googleapis.com/oauth2/v3/certs": jwks}
    return {}


def body(vector: Vector) -> bytes:
    repeat = vector.get("body_repeat")
    if repeat:
        return bytes(repeat["char"].encode() * repeat["count"])
    return base64.b64decode(vector["body_b64"])


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def judged_at(vector: Vector) -> datetime:
    if vector["now"] is not None:
        return datetime.fromtimestamp(vector["now"], UTC)
    try:
        return datetime.fromtimestamp(float(vector["timestamp"]), UTC)
    except (TypeError, ValueError, OverflowError):
        return instant(vector["timestamp"]) or NOW
