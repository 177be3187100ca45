"""We and each sender's own library agree, request by request, in both directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from cli import samples, signers
from tests.sdk.asking import NAMES, Library, library
from tests.sdk.changes import TO_BODIES, TO_HEADERS, leaves, with_body
from tests.sdk.differences import DIFFERENCES
from tests.unit.receiver import proving, signed
from tests.unit.receiver.door import NOW, Call, Heard

Table = dict[str, list[str]]
# Of ECDSA: base64 pads some, and some it does not.
_OF_ANY_LENGTH = {"sendgrid"}


@pytest.fixture(scope="module")
def table() -> Table:
    """What each library was asked: what we sign, what it signs."""
    return {name: ["", ""] for name in NAMES}


@pytest.fixture
def sdk(name: str) -> Iterator[Library]:
    with library(name) as found:
        yield found


def cases(name: str) -> Iterator[tuple[str, Call]]:
    """Yield what was done to a request, and the request."""
    for event in samples.events(name):
        yield f"nothing, {event}", signed.call(name, event)
    call = _padded(name)
    for header in proving.headers(name):
        for what, change in TO_HEADERS.items():
            yield f"{header} {what}", change(call, header)
    for what, alter in TO_BODIES.items():
        yield f"body {what}", with_body(call, alter)
    if not proving.headers(name):
        for path, body in leaves(call.body):
            yield f"body {path}", replace(call, body=body)
    window = signers.Signer(name).window_seconds
    if window:
        edges = (-window - 1, -window, 1 - window, 0, window - 1, window, window + 1)
        for seconds in edges:
            at = NOW + timedelta(seconds=seconds)
            yield f"time {seconds:+d}", signed.call(name, at=at)


def _padded(name: str) -> Call:
    """Sign until base64 pads it; an ECDSA signature has 70, 71 or 72 bytes.

    What a library does with the letters behind differs by that.
    """
    call = signed.call(name)
    while name in _OF_ANY_LENGTH and not any(
        value.endswith("=") for value in call.headers.values()
    ):
        call = signed.call(name)
    return call


def is_proven(name: str, heard: Heard) -> bool:
    """Whether the signature was taken for good, whatever became of the rest."""
    if not proving.headers(name):
        # It lies in the body: who cannot read that cannot verify either.
        return heard.status // 100 == 2
    return heard.status != 401


@pytest.mark.parametrize("name", NAMES)
def test_both_judge_alike(name: str, sdk: Library, table: Table) -> None:
    counts: Counter[str] = Counter()
    differing = {}
    for what, call in cases(name):
        ours = is_proven(name, signed.door(name).knock(call))
        theirs = sdk.verifies(call, **signed.about(name))
        if ours == theirs:
            counts["both accept" if ours else "both refuse"] += 1
        else:
            differing[what] = "we accept" if ours else "we refuse"

    known = {what for sender, what in DIFFERENCES if sender == name}
    told = ", ".join(f"{word} {count}" for word, count in sorted(counts.items()))
    table[name][0] = f"{told}, differ as known {len(known)}"
    assert differing.keys() == known, differing
    assert counts["both accept"] >= len(samples.events(name))
    assert counts["both refuse"] > 5


@pytest.mark.parametrize("name", NAMES)
def test_what_the_library_signs_is_accepted(
    name: str, sdk: Library, table: Table
) -> None:
    for event in samples.events(name):
        call = signed.call(name, event)
        headers = sdk.signs(call, **signed.about(name))
        if headers is None:
            table[name][1] = "it only verifies"
            return
        for header, value in headers.items():
            call = call.having(header, value)

        heard = signed.door(name).knock(call)

        assert heard.status // 100 == 2, heard
    table[name][1] = f"accepted {len(samples.events(name))}"


def test_every_library_was_asked_in_both_directions(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"library of": ["judges what we sign", "signs what we judge"], **table}

    with capsys.disabled():
        for sender, (judges, signs) in rows.items():
            print(f"\n{sender:<20}{judges:<52}{signs}", end="")  # noqa: T201
        print()  # noqa: T201
    assert len(table) >= 11
    assert all(all(cells) for cells in table.values())
