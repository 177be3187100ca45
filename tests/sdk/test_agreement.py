"""We and each sender's own library agree, request by request, in both directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest

from cli import samples, signers
from tests.sdk.asking import NAMES, Library, library
from tests.sdk.changes import TO_BODIES, TO_HEADERS, with_body
from tests.sdk.differences import DIFFERENCES
from tests.unit.receiver import proving, signed
from tests.unit.receiver.door import NOW, Call, Heard

_WINDOW_EDGES = (-301, -300, -299, 0, 299, 300, 301)


@pytest.fixture
def sdk(name: str) -> Iterator[Library]:
    with library(name) as found:
        yield found


def cases(name: str) -> Iterator[tuple[str, Call]]:
    """Yield what was done to a request, and the request."""
    for event in samples.events(name):
        yield f"nothing, {event}", signed.call(name, event)
    call = signed.call(name)
    for header in proving.headers(name):
        for what, change in TO_HEADERS.items():
            yield f"{header} {what}", change(call, header)
    for what, alter in TO_BODIES.items():
        yield f"body {what}", with_body(call, alter)
    if signers.Signer(name).window_seconds == 300:
        for seconds in _WINDOW_EDGES:
            at = NOW + timedelta(seconds=seconds)
            yield f"time {seconds:+d}", signed.call(name, at=at)


def is_proven(heard: Heard) -> bool:
    """Whether the signature was taken for good, whatever became of the rest."""
    return heard.status != 401


@pytest.mark.parametrize("name", NAMES)
def test_both_judge_alike(
    name: str, sdk: Library, capsys: pytest.CaptureFixture[str]
) -> None:
    counts: Counter[str] = Counter()
    differing = {}
    for what, call in cases(name):
        ours = is_proven(signed.door(name).knock(call))
        theirs = sdk.verifies(call, **signed.about(name))
        if ours == theirs:
            counts["both accept" if ours else "both refuse"] += 1
        else:
            differing[what] = "we accept" if ours else "we refuse"

    known = {what for sender, what in DIFFERENCES if sender == name}
    with capsys.disabled():
        print(f"\n{name}: {dict(counts)}, differing as known: {len(known)}")  # noqa: T201
    assert differing.keys() == known, differing
    assert counts["both accept"] >= len(samples.events(name))
    assert counts["both refuse"] > 5


@pytest.mark.parametrize("name", NAMES)
def test_what_the_library_signs_is_accepted(name: str, sdk: Library) -> None:
    for event in samples.events(name):
        call = signed.call(name, event)
        headers = sdk.signs(call, **signed.about(name))
        if headers is None:
            pytest.skip("this library only verifies")
        for header, value in headers.items():
            call = call.having(header, value)

        heard = signed.door(name).knock(call)

        assert heard.status // 100 == 2, heard
