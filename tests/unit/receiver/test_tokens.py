"""Google's tokens, as a forger would hand them over."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.utils import base64url_encode

from cli.signers import google_pubsub, keys
from tests.unit.receiver import signed
from tests.unit.receiver.door import Call, Heard

REFUSED = (401, "bad_signature")


def verdict(heard: Heard) -> tuple[int, str | None]:
    return heard.status, heard.error


def tokened(token: str) -> Call:
    return signed.call("google-pubsub").having("Authorization", f"Bearer {token}")


def claims(**more: Any) -> dict[str, Any]:
    said = google_pubsub.claims(signed.draft("google-pubsub", b"{}"))
    return {n: v for n, v in {**said, **more}.items() if v is not None}


def own_token(**more: Any) -> str:
    return google_pubsub.token(signed.secret("google-pubsub"), claims(**more))


def unsigned() -> str:
    _, said, _ = own_token().split(".")
    head = base64url_encode(b'{"alg":"none"}').decode()
    return f"{head}.{said}.AA"


def keyed_with_the_public_key() -> str:
    public = keys.read(signed.secret("google-pubsub")).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    kid = google_pubsub.jwk(signed.secret("google-pubsub"))["kid"]
    head = base64url_encode(
        json.dumps({"alg": "HS256", "kid": kid, "typ": "JWT"}).encode()
    )
    text = head + b"." + base64url_encode(json.dumps(claims()).encode())
    mac = hmac.digest(pem, text, "sha256")
    return (text + b"." + base64url_encode(mac)).decode()


STRANGE_TOKENS: dict[str, Callable[[], str]] = {
    "alg none": unsigned,
    "HS256 with the public key": keyed_with_the_public_key,
    "says HS256, signed RS256": lambda: google_pubsub.token(
        signed.secret("google-pubsub"), claims(), alg="HS256"
    ),
    "another key's": lambda: google_pubsub.token(keys.new_rsa(), claims()),
    "another key under a known name": lambda: google_pubsub.token(
        keys.new_rsa(),
        claims(),
        kid=google_pubsub.jwk(signed.secret("google-pubsub"))["kid"],
    ),
    "a key of its own": lambda: google_pubsub.token(
        signed.secret("google-pubsub"), claims(), jwk={"kty": "RSA"}, kid="mine"
    ),
    "keys elsewhere": lambda: google_pubsub.token(
        signed.secret("google-pubsub"), claims(), jku="https://evil.example", kid="x"
    ),
    "no key name": lambda: google_pubsub.token(
        signed.secret("google-pubsub"), claims(), kid=None
    ),
    "a list for a key name": lambda: google_pubsub.token(
        signed.secret("google-pubsub"), claims(), kid=["x"]
    ),
    "a critical extension": lambda: google_pubsub.token(
        signed.secret("google-pubsub"), claims(), crit=["x"], x=1
    ),
    "another audience": lambda: own_token(aud="https://evil.example"),
    "two audiences": lambda: own_token(aud=[claims()["aud"], "https://evil.example"]),
    "no audience": lambda: own_token(aud=None),
    "another issuer": lambda: own_token(iss="https://accounts.google.com.evil.example"),
    "no issuer": lambda: own_token(iss=None),
    "another account": lambda: own_token(email="evil@evil.example"),
    "no account": lambda: own_token(email=None),
    "not verified": lambda: own_token(email_verified=False),
    "verified by word": lambda: own_token(email_verified="true"),
    "no expiry": lambda: own_token(exp=None),
    "expiry by word": lambda: own_token(exp="9999999999"),
    "expiry for ever": lambda: own_token(exp=1e400),
    "no issue": lambda: own_token(iat=None),
    "no claims": lambda: google_pubsub.token(signed.secret("google-pubsub"), []),  # type: ignore[arg-type]
    "cut": lambda: own_token()[:-1],
    "foreign letters": lambda: own_token() + "!",
    "padded": lambda: own_token() + "==",
    "a line end inside": lambda: own_token().replace(".", ".\n", 1),
    "two parts": lambda: own_token().rpartition(".")[0],
    "five parts": lambda: own_token() + ".x.y",
    "empty": lambda: "",
    "huge": lambda: "a" * 100_000,
}


@pytest.mark.parametrize("what", sorted(STRANGE_TOKENS))
def test_strange_token_is_refused(what: str) -> None:
    door = signed.door("google-pubsub")

    heard = door.knock(tokened(STRANGE_TOKENS[what]()))

    assert verdict(heard) == REFUSED
    assert door.accepted == []


@pytest.mark.parametrize(("seconds", "code"), [(3600, None), (3601, "stale")])
def test_token_lives_to_its_last_second(seconds: int, code: str | None) -> None:
    door, call = signed.door("google-pubsub"), signed.call("google-pubsub")

    door.clock.advance(seconds)

    assert door.knock(call).error == code


def test_new_key_is_found_by_one_more_look_a_minute() -> None:
    door = signed.door("google-pubsub")
    url, old = next(iter(door.https.pages.items()))
    assert door.knock(signed.call("google-pubsub")).status == 200
    fresh = keys.new_rsa()
    call = tokened(google_pubsub.token(fresh, claims()))

    for _ in range(5):
        assert verdict(door.knock(call)) == REFUSED
    assert len(door.https.called) == 1, "a key set just fetched is not fetched again"
    assert isinstance(old, bytes)
    both = [*json.loads(old)["keys"], google_pubsub.jwk(fresh)]
    door.https.pages[url] = json.dumps({"keys": both}).encode()
    door.clock.advance(60)

    assert door.knock(call).status == 200
    assert door.knock(signed.call("google-pubsub", delivery_id="2")).status == 200
    assert len(door.https.called) == 2


def test_unknown_keys_make_one_call_a_minute() -> None:
    door = signed.door("google-pubsub")
    door.knock(signed.call("google-pubsub"))
    door.clock.advance(60)
    stranger = keys.new_rsa()

    for number in range(50):
        token = google_pubsub.token(stranger, claims(), kid=f"made-up-{number}")
        assert verdict(door.knock(tokened(token))) == REFUSED

    assert len(door.https.called) == 2


@pytest.mark.parametrize(
    "page",
    [500, 404, 302, b"", b"[]", b"{}", b'{"keys": 7}', b'{"keys": [7]}', b"[" * 9999],
)
def test_keys_that_are_not_there_are_not_the_senders_fault(page: bytes | int) -> None:
    door = signed.door("google-pubsub")
    (url,) = door.https.pages
    door.https.pages[url] = page

    assert door.knock(signed.call("google-pubsub")).status == 503
