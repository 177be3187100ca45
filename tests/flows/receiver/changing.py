"""Changes requests at random: one to three things, before or after they are signed."""

from __future__ import annotations

import base64
import dataclasses
import functools
import importlib
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from cli import samples
from cli.signers import Signer, google_pubsub
from tests import real_data
from tests.unit.receiver import signed
from tests.unit.receiver.door import NOW, Call

FORM = "application/x-www-form-urlencoded"
# A tenth of the cases is signed after the change: a sender's own nonsense.
SIGNED_AFTER = 0.1
# What a sender may do in several ways, which its table would say.
VARIANTS: Mapping[str, list[dict[str, Any]]] = {
    "hubspot": [{}, {"version": "v1"}, {"version": "v2"}],
    "okta": [{}, {"header": "X-Okta-Token"}],
}

JUNK_TEXT = ["", "é", "\ud800", "9" * 400, "-1", "NaN", "v1=", "=", ",", "a,b", "\x00"]
JUNK_TEXT += ["{}", "null", "1e999", "%FF", "t=1,v1=2", "Bearer x", "١٢٣", " ", "v2"]
JUNK_VALUES: list[Any] = [None, True, 0, -1, 1, 2, 10**40, 1e308, float("nan"), ""]
JUNK_VALUES += ["\ud800", "x" * 3000, [], {}, [[]], [None], {"a": {}}, "7", "ping"]
JUNK_QUERIES = ["a=%FF", "hub.mode=subscribe", "\ud800=1", "a&" * 2000, ""]
JUNK_QUERIES += ["validationToken=\ud800", "hub.verify_token=x&hub.challenge=y"]
JUNK_QUERIES += ["hub.mode=subscribe&hub.verify_token=x&hub.challenge=y"]
MEDIA_TYPES = ["application/json", FORM, "text/plain", "é"]


@dataclass(frozen=True)
class Seed:
    """A body to begin with, of one sender in one of its ways."""

    name: str
    event: str
    body: bytes
    media_type: str
    options: Mapping[str, Any]

    def signed(self, **about: Any) -> Call:
        """Return it as the sender signs it; ``about`` replaces parts of the draft."""
        known = {
            "event": self.event,
            "media_type": self.media_type,
            "options": seed_options(self),
            "id": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        }
        sign = importlib.import_module(
            f"cli.signers.{self.name.replace('-', '_')}"
        ).sign
        body = about.pop("body", self.body)
        draft = signed.draft(self.name, body, **{**known, **about})
        return signed.arriving(sign(draft))


def seed_options(seed: Seed) -> Mapping[str, Any]:
    """Return what the source's table says of a sender, and of this way of its."""
    return {**Signer(seed.name).options, **seed.options}


@functools.cache
def seeds() -> list[Seed]:
    """Return every sample, and every captured body, of every sender."""
    found = []
    for name, event in signed.SAMPLES:
        sample = samples.load(name, event, delivery_id="72d3", at=NOW)
        for options in VARIANTS.get(name, [{}]):
            found.append(Seed(name, event, sample.body, sample.media_type, options))
    if real_data.ROOT is not None:
        for name in signed.NAMES:
            folder = real_data.ROOT / "payloads" / name
            for path in sorted(folder.glob("*.json"))[:5]:
                body = path.read_bytes()
                found.append(Seed(name, path.stem, body, "application/json", {}))
    return found


@functools.cache
def _whole(index: int) -> Call | None:
    try:
        return seeds()[index].signed()
    except (ValueError, TypeError, LookupError, AttributeError):
        return None  # a captured part, which the signer cannot complete


def case(chance: random.Random) -> tuple[str, Call]:
    """Return a sender's name and a changed request of it."""
    index = chance.randrange(len(seeds()))
    seed, call = seeds()[index], _whole(index)
    if call is None or chance.random() < SIGNED_AFTER:
        return seed.name, _signed_after(chance, seed, call)
    changes = [_header, _header, _body, _query, _method, _time]
    for _ in range(chance.randint(1, 3)):
        call = chance.choice(changes)(chance, call)
    return seed.name, call


def _header(chance: random.Random, call: Call) -> Call:
    if not call.headers:
        return call
    name = chance.choice(sorted(call.headers))
    value = call.headers[name]
    junk = chance.choice(JUNK_TEXT)
    place = chance.randrange(len(value) + 1)
    return chance.choice(
        [
            call.without(name),
            call.having(name, junk),
            call.having(name, f"{value},{value}"),
            call.having(name, value[:place]),
            call.having(name, value.upper()),
            call.having(name, f"{junk},{value}"),
            call.having(name, f"{value} {junk}"),
            call.having(name, f"{value[:place]}{junk}{value[place:]}"),
            call.having("X-Okta-Verification-Challenge", junk),
        ]
    )


def _time(chance: random.Random, call: Call) -> Call:
    """Make a number of a header another one: a time, or something like it."""
    numbers = [n for n, value in call.headers.items() if value.isdigit()]
    if not numbers:
        return _body(chance, call)
    name = chance.choice(sorted(numbers))
    by = chance.choice([-301, -1, 1, 301, 10**9, -(10**9), 10**30])
    return call.having(name, str(int(call.headers[name]) + by))


def _body(chance: random.Random, call: Call) -> Call:
    data = bytearray(call.body or b"x")
    place = chance.randrange(len(data))
    match chance.randrange(5):
        case 0:
            data[place] = chance.randrange(256)
        case 1:
            del data[place : place + chance.randint(1, 40)]
        case 2:
            data[place:place] = chance.choice(JUNK_TEXT).encode("utf-8", "ignore")
        case 3:
            data += data[place:]
        case _:
            data = bytearray()
    return dataclasses.replace(call, body=bytes(data), base64=True)


def _query(chance: random.Random, call: Call) -> Call:
    pairs = parse_qsl(call.query)
    if not pairs or chance.random() < 0.3:
        return dataclasses.replace(call, query=chance.choice(JUNK_QUERIES))
    place = chance.randrange(len(pairs))
    name, value = pairs[place]
    others: list[list[tuple[str, str]]] = [
        [],
        [(name, value), (name, value)],
        [(name, value[:-1])],
        [(name.upper(), value)],
        [(name, "é")],
    ]
    pairs[place : place + 1] = chance.choice(others)
    return dataclasses.replace(call, query=urlencode(pairs, errors="surrogatepass"))


def _method(chance: random.Random, call: Call) -> Call:
    return dataclasses.replace(call, method=chance.choice(["GET", "PUT", "HEAD", "é"]))


def _signed_after(chance: random.Random, seed: Seed, call: Call | None) -> Call:
    """Return what a sender would never say, in its own hand."""
    about: dict[str, Any] = {
        "body": _bent_body(chance, seed),
        "id": chance.choice(["x", "é", "a,b", "", "z" * 500, "72d3"]),
        "event": chance.choice([seed.event, "a.b", "é", ""]),
    }
    if seed.name == "google-pubsub" and chance.random() < 0.5:
        return _claimed(chance, seed)
    if chance.random() < 0.3:
        about["media_type"] = chance.choice(MEDIA_TYPES)
    try:
        found = seed.signed(**about)
    except (ValueError, TypeError, LookupError, AttributeError):
        return call or Call(headers={}, body=seed.body)  # it must read the body
    return dataclasses.replace(found, base64=True)


def _claimed(chance: random.Random, seed: Seed) -> Call:
    """Return a token that says something else, rightly signed."""
    claims = google_pubsub.claims(
        signed.draft("google-pubsub", seed.body, options=seed_options(seed))
    )
    for _ in range(chance.randint(1, 2)):
        claims = _bent(chance, claims)
    token = google_pubsub.token(signed.secret("google-pubsub"), claims)
    return seed.signed().having("Authorization", f"Bearer {token}")


def _bent_body(chance: random.Random, seed: Seed) -> bytes:
    if seed.media_type == FORM:
        fields = parse_qsl(seed.body.decode(), keep_blank_values=True)
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(fields) + 1)
            fields[place : place + 1] = chance.choice(
                [[], [("é", "1")], [("payload", "{")], fields[place : place + 1] * 2]
            )
        return urlencode(fields).encode()
    try:
        values = json.loads(seed.body)
    except ValueError:
        values = {}
    for _ in range(chance.randint(1, 3)):
        values = _bent(chance, values)
    return json.dumps(values).encode()


def _bent(chance: random.Random, values: Any) -> Any:
    """Replace or drop one value somewhere inside."""
    if isinstance(values, dict) and values and chance.random() < 0.9:
        key = chance.choice(sorted(values))
        if chance.random() < 0.3:
            return {k: v for k, v in values.items() if k != key}
        return {**values, key: _bent(chance, values[key])}
    if isinstance(values, list) and values and chance.random() < 0.8:
        index = chance.randrange(len(values))
        return [*values[:index], _bent(chance, values[index]), *values[index + 1 :]]
    if isinstance(values, str) and chance.random() < 0.2:
        return _bent_text(chance, values)
    return chance.choice(JUNK_VALUES)


def _bent_text(chance: random.Random, text: str) -> str:
    """Change what a text holds, if it holds JSON in base64 (Pub/Sub)."""
    try:
        values = json.loads(base64.b64decode(text, validate=True))
    except ValueError:
        return text[: chance.randrange(len(text) + 1)]
    return base64.b64encode(json.dumps(_bent(chance, values)).encode()).decode()
