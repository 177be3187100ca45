"""Changes requests at random: one to three things, before or after they are signed."""

from __future__ import annotations

import base64
import dataclasses
import functools
import importlib
import json
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from cli import samples
from cli.signers import Signer, aws_sns, google_pubsub
from lambdas.shared.fleet import Generic, Pick
from tests import real_data
from tests.unit.receiver import signed
from tests.unit.receiver.door import NOW, Call, Door

FORM = "application/x-www-form-urlencoded"
GENERIC_SECRET = "anna:5d41402abc4b2a76b9719d911017c592"  # good as a password too
# A tenth of the cases is signed after the change: a sender's own nonsense.
SIGNED_AFTER = 0.1
# What a sender may do in several ways, which its table would say.
VARIANTS: Mapping[str, list[dict[str, Any]]] = {
    "hubspot": [{}, {"version": "v1"}, {"version": "v2"}],
    "okta": [{}, {"header": "X-Okta-Token"}],
}

# What the sources' tables say beside what the signers' examples do.
TABLES: Mapping[str, Mapping[str, Any]] = {"meta": {"verify_token": "x"}}
GENERIC: Mapping[str, Generic] = {
    "generic-hmac": Generic(
        algorithm="sha256",
        signature_header="X-Signature",
        prefix="sha256=",
        signed="{timestamp}.{id}.{body}",
        timestamp_header="X-Timestamp",
        id_from=Pick(where="header", name="X-Id"),
        kind_from=Pick(where="body", name="type"),
        tenant_from=Pick(where="body", name="shop"),
    ),
    "generic-token": Generic(algorithm="token", signature_header="X-Token"),
    "generic-basic": Generic(algorithm="basic", signature_header="Authorization"),
}

_RATE = {"type": "app_rate_limited", "team_id": "T1", "minute_rate_limited": 1518467820}
_PAGE = {"id": "1", "messaging": [{"sender": "7"}], "changes": [{"field": "feed"}, 7]}
_DEEP = base64.b64encode(b"[" * 9000).decode()
_PAID = {"pspReference": "a:b", "eventCode": "AUTHORISATION", "success": "true"}
_TOPIC = aws_sns.OPTIONS["topics"][0]
_YES = "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&"
_SNS = {
    "Type": "SubscriptionConfirmation",
    "MessageId": "7",
    "Token": "7",
    "TopicArn": "",
    "Message": "Hello",
    "Timestamp": "2026-11-29T12:00:00.000Z",
    "SignatureVersion": "2",
    "SigningCertURL": "",
}
# A second live secret, of the sender's other kind.
SECOND: Mapping[str, str] = {
    "gitlab": "whsec_" + base64.b64encode(b"k" * 32).decode(),
    "notion": "secret_abc",
}
# What no sample and no change of one comes to.
FURTHER: list[tuple[str, Any]] = [
    ("adyen", {"notificationItems": [{"NotificationRequestItem": _PAID}]}),
    ("slack", _RATE),
    ("slack", "ssl_check=1&token=x"),
    ("twilio", "CallSid=CA1&CallStatus=ringing"),
    ("twilio", "Digits=1"),
    ("meta", {"object": "page", "entry": [_PAGE]}),
    ("notion", {"verification_token": "secret_abc"}),
    ("discord", {"version": 1, "application_id": "8", "type": 0}),
    ("aws-sns", {**_SNS, "SubscribeURL": f"{_YES}TopicArn=another"}),
    ("aws-sns", {**_SNS, "SubscribeURL": f"{_YES}Token=1", "TopicArn": "another"}),
    ("aws-sns", {**_SNS, "SubscribeURL": f"https://evil.example/?TopicArn={_TOPIC}"}),
    ("aws-sns", {**_SNS, "Type": "Another"}),
    ("google-pubsub", {"message": {"data": _DEEP, "messageId": "7"}}),
]

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
        sender = "generic" if self.name in GENERIC else self.name
        sign = importlib.import_module(f"cli.signers.{sender.replace('-', '_')}").sign
        if self.name in GENERIC:
            known["secret"] = GENERIC_SECRET
        if self.event == "second":
            known["secret"] = SECOND[self.name]
        body = about.pop("body", self.body)
        draft = signed.draft(sender, body, **{**known, **about})
        return signed.arriving(sign(draft))


def seed_options(seed: Seed) -> Mapping[str, Any]:
    """Return what the source's table says of a sender, and of this way of its."""
    own = {} if seed.name in GENERIC else Signer(seed.name).options
    return {**own, **seed.options}


def doors() -> dict[str, Door]:
    """Open a door for every seed's name."""
    opened = {
        name: signed.door(
            name, options={**Signer(name).options, **TABLES.get(name, {})}
        )
        for name in signed.NAMES
    }
    for name, how in GENERIC.items():
        identity = None if how.id_from else "body"
        opened[name] = Door("generic", name=name, generic=how, identity=identity)
        opened[name].secret = GENERIC_SECRET
    for name, second in SECOND.items():
        both = {"current": signed.stored(name), "previous": second}
        opened[name].secret = json.dumps(both)
    return opened


@functools.cache
def seeds() -> list[Seed]:
    """Return every sample, and every captured body, of every sender."""
    found = []
    for name, event in signed.SAMPLES:
        sample = samples.load(name, event, delivery_id="72d3", at=NOW)
        for options in VARIANTS.get(name, [{}]):
            found.append(Seed(name, event, sample.body, sample.media_type, options))
    for name, said in FURTHER:
        is_form = isinstance(said, str)
        text = said if is_form else json.dumps(said)
        media_type = FORM if is_form else "application/json"
        found.append(Seed(name, "further", text.encode(), media_type, {}))
    issue = next(seed for seed in found if seed.name == "gitlab")
    found.append(replace(issue, event="second"))
    for name, how in GENERIC.items():
        order = b'{"type": "order.placed", "shop": "corner"}'
        found.append(Seed(name, name, order, "application/json", asdict(how)))
    if real_data.ROOT is not None:
        for name in signed.NAMES:
            folder = real_data.ROOT / "payloads" / name
            for path in sorted(folder.glob("*.json"))[:5]:
                body = path.read_bytes()
                found.append(Seed(name, path.stem, body, "application/json", {}))
    return found


@functools.cache
def _places() -> Mapping[str, list[int]]:
    """Return where the seeds of each sender are: all are equally likely."""
    found: dict[str, list[int]] = {}
    for index, seed in enumerate(seeds()):
        found.setdefault(seed.name, []).append(index)
    return found


@functools.cache
def _whole(index: int) -> Call | None:
    try:
        return seeds()[index].signed()
    except (ValueError, TypeError, LookupError, AttributeError):
        return None  # a captured part, which the signer cannot complete


def case(chance: random.Random) -> tuple[str, Call]:
    """Return a sender's name and a changed request of it."""
    index = chance.choice(_places()[chance.choice(sorted(_places()))])
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
            # Another scheme than the secret's, for senders of two.
            call.having("webhook-signature", "v1,AAAA")
            .having("webhook-id", junk)
            .having("webhook-timestamp", str(int(NOW.timestamp()))),
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
    except (ValueError, RecursionError):
        return text[: chance.randrange(len(text) + 1)]
    return base64.b64encode(json.dumps(_bent(chance, values)).encode()).decode()
