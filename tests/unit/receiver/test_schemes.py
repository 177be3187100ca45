"""The building blocks: what is tried, what is refused, and what it costs."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lambdas.receiver.request import Request
from lambdas.receiver.senders import (
    BODY,
    METHOD,
    TIME,
    URL,
    AnyOf,
    Basic,
    Body,
    FirstSpoken,
    Header,
    Hmac,
    Query,
    Time,
    Token,
    as_base64,
    as_hex,
    as_text,
    as_whsec,
    header,
)
from lambdas.receiver.senders.standard_webhooks import proof as standard
from lambdas.shared.errors import Code, Misconfigured, Rejected
from lambdas.shared.fleet import Source
from tests.unit.receiver.door import NOW

KEY = "It's a Secret to Everybody"
STAMP = str(int(NOW.timestamp()))


def request(body: bytes = b"Hello, World!", **given: Any) -> Request:
    """Build a request; ``source`` keys and headers as they are needed."""
    headers = {k.replace("_", "-"): v for k, v in given.pop("headers", {}).items()}
    source = Source(
        name="x",
        sender="x",
        secret_name="x",
        tolerance_seconds=given.pop("tolerance_seconds", None),
        public_url=given.pop("public_url", None),
    )
    given = {"method": "POST", "received_at": NOW, **given}
    return Request(source=source, headers=headers, body=body, **given)


def hexed(*parts: bytes, key: bytes = KEY.encode(), algorithm: str = "sha256") -> str:
    return hmac.new(key, b"".join(parts), algorithm).hexdigest()


def refusal(proof: Any, asked: Request, *secrets: str, now: datetime = NOW) -> str:
    with pytest.raises(Rejected) as refused:
        proof.verify(asked, secrets or (KEY,), now)
    return refused.value.code


BARE = Hmac(signature=Header("sig"))
TIMED = Hmac(
    signature=Header("sig"), signed=(TIME, b".", BODY), time=Time(place=Header("at"))
)
LISTED = Hmac(
    signature=Header("sig"),
    signed=(TIME, b".", BODY),
    prefix="v1=",
    separator=",",
    time=Time(field="t"),
)


def test_index_of_the_matching_secret_is_returned() -> None:
    asked = request(headers={"sig": hexed(b"Hello, World!")})

    assert BARE.verify(asked, [KEY, "other"], NOW) == 0
    assert BARE.verify(asked, ["other", KEY], NOW) == 1


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha512"])
@pytest.mark.parametrize("encoding", ["hex", "base64"])
def test_digest_of_any_algorithm_and_encoding(algorithm: Any, encoding: Any) -> None:
    digest = hmac.new(KEY.encode(), b"x", algorithm).digest()
    sent = {"hex": digest.hex(), "base64": base64.b64encode(digest).decode()}[encoding]
    proof = Hmac(signature=Header("sig"), algorithm=algorithm, encoding=encoding)

    assert proof.verify(request(b"x", headers={"sig": sent}), [KEY], NOW) == 0
    other = sent.swapcase() if encoding == "base64" else sent[:-1]
    assert refusal(proof, request(b"x", headers={"sig": other})) == Code.BAD_SIGNATURE


def test_capitals_count_only_where_the_sender_allows_them() -> None:
    asked = request(headers={"sig": hexed(b"Hello, World!").upper()})

    assert refusal(BARE, asked) == Code.BAD_SIGNATURE
    relaxed = Hmac(signature=Header("sig"), any_case=True)
    assert relaxed.verify(asked, [KEY], NOW) == 0


def test_every_part_of_a_request_can_be_signed() -> None:
    proof = Hmac(
        signature=Header("sig"), signed=(METHOD, URL, header("x-a"), b"|", BODY)
    )
    url = b"https://hooks.example.com/in?a=1"
    asked = request(
        b"body",
        method="PUT",
        headers={"x-a": "ü", "sig": hexed(b"PUT", url, "ü".encode(), b"|", b"body")},
        query="a=1",
        public_url="https://hooks.example.com/in",
    )

    assert proof.verify(asked, [KEY], NOW) == 0


def test_signature_may_be_anywhere() -> None:
    in_query = Hmac(signature=Query("sig"), signed=(b"x",))
    in_body = Hmac(signature=Body("proof.sig"), signed=(b"x",))
    body = b'{"proof": {"sig": "%s"}}' % hexed(b"x").encode()

    assert in_query.verify(request(query=f"sig={hexed(b'x')}"), [KEY], NOW) == 0
    assert in_body.verify(request(body), [KEY], NOW) == 0
    assert refusal(in_query, request(query="sig=%FF")) == Code.MALFORMED
    assert refusal(in_body, request(b"{}")) == Code.BAD_SIGNATURE


GOOD = hexed(STAMP.encode(), b".", b"Hello, World!")


@pytest.mark.parametrize(
    "sent",
    [
        f"t={STAMP},v1={GOOD}",
        f"t={STAMP}, v1={GOOD}",
        f"v1={GOOD},t={STAMP}",
        f"t={STAMP},v1=potato,v1={GOOD}",
        f"t={STAMP},v1,=,,v1=,v1=é,v1={GOOD},v1=potato",
        f"t={STAMP},v0=x,v2=y,v1={GOOD}",
    ],
)
def test_any_good_one_of_a_list_is_found(sent: str) -> None:
    assert LISTED.verify(request(headers={"sig": sent}), [KEY], NOW) == 0


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "t=",
        f"v1={GOOD}",
        f"t=,v1={GOOD}",
        f"t={STAMP}",
        f"t={STAMP},v0={GOOD}",
        f"t={STAMP},v1={GOOD[:-1]}",
        f"t={STAMP},v1={GOOD}x",
        f"t={STAMP};v1={GOOD}",
        f"t={STAMP},t={STAMP},v1={GOOD}",
        f"t=1,t={STAMP},v1={GOOD}",
        f"t={STAMP},V1={GOOD}",
    ],
)
def test_any_other_list_is_refused(sent: str) -> None:
    assert refusal(LISTED, request(headers={"sig": sent})) == Code.BAD_SIGNATURE


@pytest.mark.parametrize(
    "stamp",
    [
        "abc",
        "NaN",
        "inf",
        "-1",
        "1e9",
        "0x10",
        "",
        " ",
        "9" * 17,
        "9" * 5000,
        "١٧٩٥٩٥٣٦٠٠",
        "²",
        "1_795_953_600",
        f"{STAMP}.5",
        f"+{STAMP}",
        f"{STAMP}\u2003",
    ],
)
def test_rightly_signed_junk_is_not_a_time(stamp: str) -> None:
    signature = hexed(stamp.encode(), b".", b"Hello, World!")
    asked = request(headers={"sig": signature, "at": stamp})

    assert refusal(TIMED, asked) == Code.BAD_SIGNATURE


@pytest.mark.parametrize("stamp", ["0", "9" * 16, "99999999999"])
def test_time_beyond_any_window_is_refused(stamp: str) -> None:
    signature = hexed(stamp.encode(), b".", b"Hello, World!")
    asked = request(headers={"sig": signature, "at": stamp})

    assert refusal(TIMED, asked) in (Code.STALE, Code.BAD_SIGNATURE)


@pytest.mark.parametrize(
    ("own", "age", "is_fresh"),
    [
        (None, 300, True),
        (None, 301, False),
        (5, 5, True),
        (5, 6, False),
        (900, 900, True),
    ],
)
@pytest.mark.parametrize("side", [1, -1])
def test_source_may_change_the_window(
    own: int | None, age: int, is_fresh: bool, side: int
) -> None:
    asked = request(
        headers={"sig": hexed(STAMP.encode(), b".Hello, World!"), "at": STAMP},
        tolerance_seconds=own,
    )
    # Fractions do not count: 300.9 s after is 300 s after.
    now = NOW + timedelta(seconds=side * age + 0.9)
    now = now if side == 1 else NOW - timedelta(seconds=age)

    if is_fresh:
        assert TIMED.verify(asked, [KEY], now) == 0
    else:
        assert refusal(TIMED, asked, now=now) == Code.STALE


def test_time_says_nothing_before_the_signature_holds() -> None:
    asked = request(headers={"sig": "0" * 64, "at": "0"})

    assert refusal(TIMED, asked) == Code.BAD_SIGNATURE


@pytest.mark.parametrize(
    ("unit", "sent"),
    [
        ("s", STAMP),
        ("ms", f"{STAMP}000"),
        ("rfc3339", "2026-11-29T12:00:00Z"),
        ("rfc3339", "2026-11-29T13:00:00.123456789+01:00"),
        (None, STAMP),
        (None, f"{STAMP}000"),
        (None, "2026-11-29T12:00:00Z"),
        (None, "Sun, 29 Nov 2026 12:00:00 GMT"),
    ],
)
def test_time_is_read_in_the_senders_unit(unit: Any, sent: str) -> None:
    proof = Hmac(
        signature=Header("sig"),
        signed=(BODY, TIME),
        time=Time(place=Header("at"), unit=unit, tolerance_seconds=0),
    )
    asked = request(headers={"sig": hexed(b"Hello, World!", sent.encode()), "at": sent})

    assert proof.verify(asked, [KEY], NOW) == 0


def test_time_in_the_body_is_read_after_the_body_has_proved_itself() -> None:
    proof = Hmac(signature=Header("sig"), time=Time(place=Body("at"), unit="ms"))
    body = b'{"at": %s000}' % STAMP.encode()

    assert refusal(proof, request(b"[" * 99_999, headers={"sig": "x"}))
    assert proof.verify(request(body, headers={"sig": hexed(body)}), [KEY], NOW) == 0
    timeless = request(b"{}", headers={"sig": hexed(b"{}")})
    assert refusal(proof, timeless) == Code.BAD_SIGNATURE
    broken = request(b"{", headers={"sig": hexed(b"{")})
    assert refusal(proof, broken) == Code.MALFORMED


@pytest.mark.parametrize(
    ("key", "secret", "means"),
    [
        (as_text, "whsec_YWJj", b"whsec_YWJj"),
        (as_text, "schlüssel", "schlüssel".encode()),
        (as_base64, "YWI", b"ab"),
        (as_base64, "YWI=", b"ab"),
        (as_whsec, "whsec_YWI", b"ab"),
        (as_whsec, "YWI=", b"ab"),
        (as_hex, "6162", b"ab"),
    ],
)
def test_secret_is_decoded_as_the_sender_does(
    key: Any, secret: str, means: bytes
) -> None:
    proof = Hmac(signature=Header("sig"), key=key)
    asked = request(headers={"sig": hexed(b"Hello, World!", key=means)})

    assert proof.verify(asked, [secret], NOW) == 0


@pytest.mark.parametrize(
    ("key", "secret"),
    [(as_base64, "?"), (as_whsec, "whsec_"), (as_whsec, "whsec_é"), (as_hex, "xyz")],
)
def test_secret_of_the_wrong_form_is_our_fault(key: Any, secret: str) -> None:
    proof = Hmac(signature=Header("sig"), key=key)
    good = request(headers={"sig": hexed(b"Hello, World!", key=b"ab")})
    right = {as_base64: "YWI=", as_whsec: "whsec_YWI=", as_hex: "6162"}[key]

    with pytest.raises(Misconfigured) as fault:
        proof.verify(good, [secret], NOW)
    assert secret not in str(fault.value)
    # The other one still serves; but a mismatch may be the broken one's.
    assert proof.verify(good, [secret, right], NOW) == 1
    with pytest.raises(Misconfigured):
        proof.verify(request(headers={"sig": "x"}), [secret, right], NOW)


def test_token_and_basic_hold_for_the_whole_header_alone() -> None:
    token = Token(place=Header("authorization"), prefix="Bearer ")
    credentials = base64.b64encode(b"user:pass word").decode()

    assert (
        token.verify(request(headers={"authorization": f"Bearer {KEY}"}), [KEY], NOW)
        == 0
    )
    for sent in ("", KEY, "Bearer ", f"Bearer {KEY},Bearer {KEY}", "Bearer é"):
        assert refusal(token, request(headers={"authorization": sent}))
    for scheme in ("Basic", "basic"):
        asked = request(headers={"authorization": f"{scheme} {credentials}"})
        assert Basic().verify(asked, ["user:pass word"], NOW) == 0
    for sent in ("", "Basic", "Basic !", f"Bearer {credentials}", "Basic dXNlcjo="):
        assert refusal(
            Basic(), request(headers={"authorization": sent}), "user:pass word"
        )
    with pytest.raises(Misconfigured):
        Basic().verify(request(), ["no-colon"], NOW)


def test_first_spoken_decides_alone() -> None:
    strong, weak = Hmac(signature=Header("a")), Token(place=Header("b"))
    both = FirstSpoken((strong, weak))

    assert both.verify(request(headers={"b": KEY}), [KEY], NOW) == 0
    assert refusal(both, request(headers={"a": "wrong", "b": KEY}))
    assert refusal(both, request())


def test_any_of_tries_all() -> None:
    proofs = AnyOf((Hmac(signature=Header("sig"), signed=(b"rewritten",)), BARE))

    assert proofs.verify(request(headers={"sig": hexed(b"rewritten")}), [KEY], NOW) == 0
    assert (
        proofs.verify(request(headers={"sig": hexed(b"Hello, World!")}), [KEY], NOW)
        == 0
    )
    assert refusal(proofs, request(headers={"sig": "x"})) == Code.BAD_SIGNATURE


def test_id_with_a_dot_cannot_move_what_is_signed() -> None:
    secret = base64.b64encode(KEY.encode()).decode()
    text = f"msg.1.{STAMP}.".encode() + b"{}"
    digest = hmac.new(KEY.encode(), text, hashlib.sha256).digest()
    asked = request(
        b"{}",
        headers={
            "webhook-id": "msg.1",
            "webhook-timestamp": STAMP,
            "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
        },
    )

    assert refusal(standard(), asked, secret) == Code.BAD_SIGNATURE


def test_work_is_bounded_by_the_length_of_what_came() -> None:
    """API Gateway takes 10 KB of headers; a hundred times that is still quick."""
    asked = request(headers={"sig": f"t={STAMP}," + "v1=x," * 200_000})
    started = time.process_time()

    assert refusal(LISTED, asked, KEY, "other") == Code.BAD_SIGNATURE

    assert time.process_time() - started < 5


def test_published_example_of_github_is_taken() -> None:
    """GitHub's own page: this secret, this body, this digest."""
    digest = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    proof = Hmac(signature=Header("sig"), prefix="sha256=")

    assert proof.verify(request(headers={"sig": f"sha256={digest}"}), [KEY], NOW) == 0
    assert NOW.tzinfo is UTC
