"""What holds for every sender that has a module, found by itself.

A new module is under all of this without a line here: its valid requests come
from the signer and the samples of the command line, written apart from it.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Iterator
from datetime import timedelta

import pytest

from cli import signers
from lambdas.shared import senders
from lambdas.shared.errors import Code
from tests.unit.receiver import proving, signed
from tests.unit.receiver.door import NOW, Call

# What a stranger may hear. Anything else would be our fault, or help a forger.
REFUSALS = {(401, "bad_signature"), (401, "stale"), (400, "malformed")}
NO_ID = (400, "no_delivery_id")

HOSTILE = {
    "absent": None,
    "empty": lambda _: "",
    "blank": lambda _: " ",
    "doubled": lambda value: f"{value},{value}",
    "not ascii": lambda value: f"{value[:-1]}é",
    "surrogate": lambda _: "\ud800",
    "truncated": lambda value: value[:-1],
    "junk": lambda _: "=,;v1=,t=,:!",
    "huge": lambda _: "9" * 9000,
    "other digits": lambda _: "١٧٩٥٩٥٣٦٠٠",
    "not a number": lambda _: "NaN",
    "negative": lambda _: "-1",
}


def proofs() -> Iterator[tuple[str, str, str]]:
    for name in signed.NAMES:
        for header in proving.headers(name):
            for kind in HOSTILE:
                yield name, header, kind


def changed(call: Call, header: str, kind: str) -> Call:
    change = HOSTILE[kind]
    if change is None:
        return call.without(header)
    value = next(v for n, v in call.headers.items() if n.lower() == header)
    return call.having(header, change(value))


@pytest.mark.parametrize(("name", "event"), signed.SAMPLES)
@pytest.mark.parametrize("as_base64", [False, True], ids=["text", "base64"])
def test_signed_sample_is_accepted_once(name: str, event: str, as_base64: bool) -> None:
    door = signed.door(name)
    call = dataclasses.replace(signed.call(name, event), base64=as_base64)

    first, again = door.knock(call), door.knock(call)

    assert first.status // 100 == 2, first
    assert (again.status, again.headers) == (first.status, first.headers)
    calls_per_request = door.ledger.calls // 2
    assert len(door.accepted) == calls_per_request
    for accepted in door.accepted:
        assert accepted.source == name
        assert accepted.id.startswith(f"{name}:")
        assert not accepted.kind.startswith(f"{name}.")
        assert accepted.occurred_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize(("name", "header", "kind"), list(proofs()))
def test_hostile_proof_is_refused(name: str, header: str, kind: str) -> None:
    door, call = signed.door(name), signed.call(name)
    is_optional = signed.door(name).knock(call.without(header)).status < 400
    proof = proving.record(name).proof
    is_list = kind == "doubled" and getattr(proof, "separator", "") == ","

    heard = door.knock(changed(call, header, kind))

    assert heard.status < 500, heard
    if not is_optional and not (is_list and heard.status == 200):
        assert (heard.status, heard.error) in REFUSALS | {NO_ID}
        assert door.accepted == []


@pytest.mark.parametrize("name", signed.NAMES)
def test_some_header_or_body_field_must_prove(name: str) -> None:
    door, call = signed.door(name), signed.call(name)

    heard = door.knock(dataclasses.replace(call, headers={}, query=""))

    assert heard.status in (400, 401) or not proving.headers(name)
    assert door.accepted == [] or not proving.headers(name)


@pytest.mark.parametrize("name", signed.NAMES)
@pytest.mark.parametrize("kind", ["absent", "empty", "doubled", "not ascii"])
def test_hostile_name_of_delivery_or_kind_is_refused(name: str, kind: str) -> None:
    """Headers outside the signature: junk in them cannot be told from truth."""
    call = signed.call(name)
    for header in {n.lower() for n in call.headers}:
        door = signed.door(name)
        if signed.door(name).knock(call.without(header)).status < 400:
            continue
        if header in proving.headers(name):
            continue

        heard = door.knock(changed(call, header, kind))

        # Twilio's proof reads a form: without the media type nothing binds it.
        allowed = (400, 401) if header == "content-type" else (400,)
        assert heard.status in allowed, (header, heard)
        assert door.accepted == []


@pytest.mark.parametrize("name", signed.NAMES)
def test_one_changed_byte_is_refused(name: str) -> None:
    door = signed.door(name)

    heard = door.knock(signed.call(name, tampered=True))

    assert (heard.status, heard.error) in REFUSALS
    assert door.accepted == []


@pytest.mark.parametrize("name", signed.NAMES)
def test_other_secret_is_refused(name: str) -> None:
    door = signed.door(name)

    heard = door.knock(signed.call(name, which="a stranger's"))

    assert (heard.status, heard.error) == (401, Code.BAD_SIGNATURE)
    assert door.accepted == []


@pytest.mark.parametrize("which", ["current", "previous"])
@pytest.mark.parametrize("name", signed.WITH_SECRET)
def test_either_live_secret_is_accepted(name: str, which: str) -> None:
    door = signed.door(name)
    door.secret = signed.rotating(name)

    heard = door.knock(signed.call(name, which=which))

    assert heard.status // 100 == 2


@pytest.mark.parametrize("side", [-1, 1], ids=["past", "future"])
@pytest.mark.parametrize("name", signed.NAMES)
def test_window_is_closed_on_both_sides(name: str, side: int) -> None:
    signer = signers.Signer(name)
    window = signer.window_seconds if side < 0 else signer.future_seconds
    if window is None:
        # Nothing signed, nothing invented: an old request is as good as a new one.
        call = signed.call(name, at=NOW + side * timedelta(days=9))
        assert signed.door(name).knock(call).status // 100 == 2
        return

    edge = signed.call(name, at=NOW + side * timedelta(seconds=window))
    outside = signed.call(name, at=NOW + side * timedelta(seconds=window + 1))

    assert signed.door(name).knock(edge).status // 100 == 2
    assert signed.door(name).knock(outside).error == Code.STALE


@pytest.mark.parametrize("name", signed.NAMES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"text"',
        b"\x00",
        b'{"id": "\\u0000\\ud800", "type": "\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"id": ' + b"9" * 5000 + b"}",
        b'{"id": NaN, "type": Infinity}',
        b'{"id": {"id": []}, "type": [], "event": {"data": "x"}, "action": 7}',
        b"payload=%7B&payload=%FF",
        b"a=&" * 2000,
    ],
    ids=lambda body: repr(body[:12]),
)
def test_signed_nonsense_never_fails(
    name: str, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sender's own nonsense, rightly signed, is accepted or refused, calmly."""
    sign = importlib.import_module(f"cli.signers.{name.replace('-', '_')}").sign
    draft = signed.draft(name, body)
    for media_type in ("application/json", "application/x-www-form-urlencoded"):
        try:
            delivery = sign(dataclasses.replace(draft, media_type=media_type))
        except (ValueError, RecursionError, TypeError, LookupError, AttributeError):
            continue  # the signer itself must read the body
        door = signed.door(name)
        call = Call(headers=delivery.headers, body=delivery.body, query=delivery.query)

        heard = door.knock(dataclasses.replace(call, base64=True))

        assert heard.status < 500, (heard, media_type)


@pytest.mark.parametrize("name", senders.names())
def test_module_explains_itself(name: str) -> None:
    module = importlib.import_module(
        f"lambdas.receiver.senders.{name.replace('-', '_')}"
    )

    title, sections = senders.guide(inspect.getdoc(module) or "")

    assert ": " in title
    assert list(sections) == list(senders.HEADINGS)
    assert all(sections.values())


@pytest.mark.parametrize("name", senders.names())
def test_module_is_small(name: str) -> None:
    module = importlib.import_module(
        f"lambdas.receiver.senders.{name.replace('-', '_')}"
    )

    assert len(inspect.getsource(module).splitlines()) <= 120


def test_every_sender_has_its_signer_and_samples() -> None:
    missing = [n for n in senders.names() if n not in signers.names()]

    assert missing == []
