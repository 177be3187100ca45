"""Signatures among others, in another form, and times in every writing, for all.

As in ``test_every_sender``, a new sender is under this without a line here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lambdas.receiver.places import Header
from lambdas.receiver.schemes import Hmac
from tests.unit.receiver import proving, signed
from tests.unit.receiver.door import NOW, Call, Heard

NOISE = ["garbage", "=", "v1=", "v1,", "v0=00", "\ud800", "é" * 9, "9" * 9000, "\x00"]

Writing = Callable[[str], str]

FORMS: dict[str, Writing] = {
    "other scheme": lambda value: re.sub(r"(sha\d+|v1a?|v0|h1)([=,])", r"v9\2", value),
    "scheme put before": lambda value: f"sha256={value}",
    "no scheme": lambda value: value.rpartition("=")[2].rpartition(",")[2],
    "scheme in capitals": lambda value: re.sub(r"(v1|v0|h1|sha)", r"X\1", value),
    "quoted": lambda value: f'"{value}"',
    "in brackets": lambda value: f"[{value}]",
    "percent-encoded": lambda value: value.replace("=", "%3D") + "%00",
}

TIMES: dict[str, Writing] = {
    "milliseconds": lambda value: f"{value}000",
    "seconds of milliseconds": lambda value: value[:10],
    "a fraction": lambda value: f"{value}.0",
    "padded": lambda value: f"0{value}",
    "a sign": lambda value: f"+{value}",
    "hexadecimal": lambda _: "0x6b0d1c80",
    "underscores": lambda value: f"{value[:3]}_{value[3:]}",
    "RFC 3339": lambda _: "2026-11-29T12:00:00Z",
    "HTTP date": lambda _: "Sun, 29 Nov 2026 12:00:00 GMT",
    "the year 1": lambda _: "0001-01-01T00:00:00Z",
    "the year 9999": lambda _: "9999-12-31T23:59:59Z",
    "after all years": lambda _: "99999999999999",
    "junk": lambda _: "yesterday",
    "infinity": lambda _: "Infinity",
}


def hmacs(proof: Any) -> Iterator[Hmac]:
    """Yield every keyed hash that a proof is made of."""
    if isinstance(proof, Hmac):
        yield proof
    for each in getattr(proof, "proofs", ()):
        yield from hmacs(each)


def spoken(name: str) -> list[tuple[Hmac, str]]:
    """Return the hashes whose header the signer sends, with the header's name."""
    sent = {header.lower() for header in signed.call(name).headers}
    return [
        (each, each.signature.name)
        for each in hmacs(proving.record(name).proof)
        if isinstance(each.signature, Header) and each.signature.name in sent
    ]


SPOKEN = [(name, header) for name in signed.NAMES for _, header in spoken(name)]


def value(call: Call, header: str) -> str:
    return next(v for n, v in call.headers.items() if n.lower() == header)


def scheme(name: str, header: str) -> Hmac:
    return next(found for found, sent in spoken(name) if sent == header)


def is_refused(heard: Heard) -> bool:
    return (heard.status, heard.error) in {
        (401, "bad_signature"),
        (401, "stale"),
        (400, "malformed"),
        (400, "no_delivery_id"),
    }


@pytest.mark.parametrize(("name", "header"), SPOKEN)
def test_right_one_of_a_list_is_found_and_elsewhere_there_is_no_list(
    name: str, header: str
) -> None:
    """A malformed entry must not end the search; without lists nothing is split."""
    call, separator = signed.call(name), scheme(name, header).separator
    good = value(call, header)
    for noise in NOISE:
        if separator == ";" and "," in noise:
            continue  # a comma there means that the header came twice
        for joined in (separator or ",", separator or " "):
            for text in (f"{noise}{joined}{good}", f"{good}{joined}{noise}"):
                door = signed.door(name)

                heard = door.knock(call.having(header, text))

                if separator:
                    assert heard.status // 100 == 2, (text[:60], heard)
                else:
                    assert is_refused(heard), (text[:60], heard)
                    assert door.accepted == []


@pytest.mark.parametrize(("name", "header"), SPOKEN)
@pytest.mark.parametrize("form", FORMS)
def test_signature_in_another_form_is_refused(
    name: str, header: str, form: str
) -> None:
    call, door = signed.call(name), signed.door(name)
    good = value(call, header)
    if (text := FORMS[form](good)) == good:
        return  # it has no such form: a bare signature names no scheme

    heard = door.knock(call.having(header, text))

    assert is_refused(heard), (text[:60], heard)
    assert door.accepted == []


def timed() -> list[tuple[str, str]]:
    """Return the senders that send a signed time, with its header or field."""
    found = []
    for name in signed.NAMES:
        sent = {header.lower() for header in signed.call(name).headers}
        for each, header in spoken(name):
            place = each.time.place if each.time else None
            if each.time and each.time.field:
                found.append((name, f"{header}:{each.time.field}"))
            elif isinstance(place, Header) and place.name in sent:
                found.append((name, place.name))
    return sorted(set(found))


@pytest.mark.parametrize("writing", TIMES)
@pytest.mark.parametrize(("name", "where"), timed())
def test_time_in_another_writing_is_refused(
    name: str, where: str, writing: str
) -> None:
    """What is signed is the time as it was written, so no other writing is it."""
    call, door = signed.call(name), signed.door(name)
    header, _, field = where.partition(":")
    old = value(call, header)
    stamp = re.search(rf"(?<={field}=)[^,;]*", old) if field else None
    own = stamp[0] if stamp else old
    new = TIMES[writing](own)
    if new == own:
        return  # this sender writes it so
    text = old.replace(own, new, 1)

    heard = door.knock(call.having(header, text))

    assert is_refused(heard), (text[:60], heard)
    assert door.accepted == []


def test_there_are_lists_and_times_among_the_senders() -> None:
    """Else the tests above would hold for nobody."""
    lists = {name for name, header in SPOKEN if scheme(name, header).separator}
    times = {name for name, _ in timed()}

    assert {"stripe", "pagerduty", "circleci", "paddle", "svix", "mux"} <= lists
    assert {"slack", "zendesk", "box", "zoom", "calendly", "svix"} <= times
    assert NOW.utcoffset() is not None
