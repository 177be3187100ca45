"""An API Gateway event becomes a request, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lambdas.receiver.request import Request, from_api_gateway
from lambdas.shared.errors import Code, Rejected
from lambdas.shared.fleet import Source
from tests import real_data
from tests.unit.receiver.door import NOW, Call


def request(call: Call, **source: Any) -> Request:
    door = Source(name="x", sender="x", secret_name="x", **source)
    return from_api_gateway(call.to_api_gateway("x"), door, NOW)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"a" :  1,\r\n "b":"\\u001B\xe2\x99\xa5" }\r\n',
        b"  leading and trailing  ",
        b"a=1&b=%7B",
        b"\x00\x01",
    ],
)
def test_body_is_the_same_however_it_travelled(body: bytes) -> None:
    as_text = request(Call(headers={}, body=body))
    as_base64 = request(Call(headers={}, body=body, base64=True))

    assert as_text.body == as_base64.body == body


def test_bytes_that_are_no_text_survive_base64() -> None:
    assert request(Call(headers={}, body=b"\xff\xfe", base64=True)).body == b"\xff\xfe"


def test_headers_are_found_in_any_case_and_joined_when_repeated() -> None:
    event = Call(headers={}).to_api_gateway("x")
    event["headers"] = {"X-Sig": "a", "x-sig": "b", "Content-Type": "TEXT/x; charset=y"}
    found = from_api_gateway(event, Source(name="x", sender="x", secret_name="x"), NOW)

    assert found.header("X-SIG") == "a,b"
    assert found.header("absent") == ""
    assert found.media_type == "text/x"


@pytest.mark.parametrize(
    ("public_url", "query", "url"),
    [
        (None, "", "https://abc123.execute-api.eu-central-1.amazonaws.com/webhooks/x"),
        (
            None,
            "a=1",
            "https://abc123.execute-api.eu-central-1.amazonaws.com/webhooks/x?a=1",
        ),
        (
            "https://hooks.example.com",
            "a=1",
            "https://hooks.example.com/webhooks/x?a=1",
        ),
        ("https://hooks.example.com/", "", "https://hooks.example.com/"),
        (
            "https://hooks.example.com/in",
            "a=%27'&a=2",
            "https://hooks.example.com/in?a=%27'&a=2",
        ),
        ("https://hooks.example.com:8443/in", "", "https://hooks.example.com:8443/in"),
    ],
)
def test_url_is_the_one_that_the_sender_knows(
    public_url: str | None, query: str, url: str
) -> None:
    assert request(Call(headers={}, query=query), public_url=public_url).url == url


@pytest.mark.parametrize(
    ("media_type", "body", "data"),
    [
        ("application/json", b'{"a": [1, {"b": null}]}', {"a": [1, {"b": None}]}),
        ("text/plain; charset=UTF-8", b'{"a": 1}', {"a": 1}),
        ("", b'{"a": 1}', {"a": 1}),
        (
            "application/x-www-form-urlencoded",
            b"a=1&a=2&b=",
            {"a": ["1", "2"], "b": ""},
        ),
        ("application/x-www-form-urlencoded", b"payload=%7B%22a%22%3A1%7D", {"a": 1}),
    ],
)
def test_body_is_decoded_by_its_type(media_type: str, body: bytes, data: Any) -> None:
    asked = request(Call(headers={"content-type": media_type}, body=body))

    assert asked.data == data
    assert asked.data is asked.data


def test_json_that_is_called_a_form_stays_json() -> None:
    """The type is not signed: a stranger's title must not become the fields."""
    body = b' {"title": "a&payload=%7B%22title%22%3A%22forged%22%7D"}'
    asked = request(
        Call(headers={"content-type": "application/x-www-form-urlencoded"}, body=body)
    )

    assert asked.data == json.loads(body)
    assert asked.media_type == "application/json"


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/json", b""),
        ("application/json", b"{"),
        ("application/json", b"\x00"),
        ("application/json", b'"\xff"'),
        ("application/json", b"[" * 200_000),
        ("application/json", b"9" * 5000),
        ("application/x-www-form-urlencoded", b"\xff"),
        ("application/x-www-form-urlencoded", b"a=%FF"),
        ("application/x-www-form-urlencoded", b"a=&" * 5000),
        ("application/x-www-form-urlencoded", b"payload=%7B"),
    ],
    ids=lambda value: repr(value[:20]),
)
def test_body_that_cannot_be_decoded_is_malformed_and_not_quoted(
    media_type: str, body: bytes
) -> None:
    call = Call(headers={"content-type": media_type}, body=body, base64=True)

    with pytest.raises(Rejected) as refused:
        _ = request(call).data
    assert refused.value.code == Code.MALFORMED
    assert len(str(refused.value)) < 80


@pytest.mark.real_data
def test_events_as_aws_documents_them_are_read(fixtures: Path) -> None:
    folder = fixtures / "payloads/aws-lambda-events"
    found = 0
    for path in sorted(folder.glob("*.json")):
        event = json.loads(path.read_text(encoding="utf-8"))
        context = event.get("requestContext") if isinstance(event, dict) else None
        if event.get("version") != "2.0" or not isinstance(context, dict):
            continue
        source = Source(name="x", sender="x", secret_name="x")
        asked = from_api_gateway(event, source, NOW)
        found += 1
        assert asked.method == context["http"]["method"]
        assert isinstance(asked.body, bytes)

    real_data.used("payloads", found)
    assert found >= 1
