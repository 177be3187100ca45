"""Nothing is called that is not on the list, nothing twice, and not for ever."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lambdas.shared.errors import Unavailable
from lambdas.shared.fetch import MOST_CALLS, Fetcher, NotServed, pin
from tests.fakes.outside import FakeHttps
from tests.unit.receiver.door import FakeClock

PIN = pin(r"keys(-[a-z]+)?\.example\.com", r"/certs/[a-z]+\.pem(\?v=[0-9]+)?")
URL = "https://keys.example.com/certs/a.pem"

STRANGE = [
    "http://keys.example.com/certs/a.pem",
    "HTTPS://user@keys.example.com/certs/a.pem",
    "https://user:word@keys.example.com/certs/a.pem",
    "https://keys.example.com@evil.example/certs/a.pem",
    "https://keys.example.com:443/certs/a.pem",
    "https://keys.example.com:8443/certs/a.pem",
    "https://keys.example.com.evil.example/certs/a.pem",
    "https://evilkeys.example.com/certs/a.pem",
    "https://keysXexample.com/certs/a.pem",
    "https://evil.example/keys.example.com/certs/a.pem",
    "https://keys.example.com./certs/a.pem",
    "https://KEYS.example.com/certs/a.pem",
    "https://keys.example.com/certs/../a.pem",
    "https://keys.example.com/certs/%2e%2e/a.pem",
    "https://keys.example.com/certs/a.pem/x",
    "https://keys.example.com/certs/a.pem?v=1&x=2",
    "https://keys.example.com/certs/a.pem#evil.example",
    "https://keys.example.com/certs/a.pem\n",
    "https://keys.example.com/certs/a.pem?",
    "https://keys.example.com/certs/a.pem#",
    "HTTPS://keys.example.com/certs/a.pem",
    "https://keys.example.com/certs/a.\tpem",
    "https://keys.example.com\\@evil.example/certs/a.pem",
    "https:/keys.example.com/certs/a.pem",
    "https:///certs/a.pem",
    "//keys.example.com/certs/a.pem",
    "https://[::1/certs/a.pem",
    "https://keys.exаmple.com/certs/a.pem",  # noqa: RUF001 - a look-alike
    "file:///etc/passwd",
    "",
    "\ud800",
]


def fetcher(**pages: bytes | int) -> tuple[Fetcher, FakeHttps, FakeClock]:
    https = FakeHttps(
        {f"https://keys.example.com/certs/{n}.pem": p for n, p in pages.items()}
    )
    clock = FakeClock()
    return Fetcher(https, clock), https, clock


@pytest.mark.parametrize("url", STRANGE)
def test_address_off_the_list_is_not_called(url: str) -> None:
    fetch, https, _ = fetcher(a=b"key")

    with pytest.raises(NotServed):
        fetch(url, PIN)

    assert https.called == []


@pytest.mark.parametrize("more", ["", "?v=7"])
def test_address_on_the_list_is_called(more: str) -> None:
    https = FakeHttps({f"{URL}{more}": b"key"})

    assert Fetcher(https, FakeClock())(f"{URL}{more}", PIN) == b"key"


def test_what_was_fetched_is_remembered_for_an_hour() -> None:
    fetch, https, clock = fetcher(a=b"old")
    fetch(URL, PIN)
    https.pages[URL] = b"new"

    clock.advance(3599)
    assert fetch(URL, PIN) == b"old"
    clock.advance(1)
    assert fetch(URL, PIN) == b"new"
    assert len(https.called) == 2


def test_newer_one_may_be_asked_for() -> None:
    fetch, https, clock = fetcher(a=b"old")
    fetch(URL, PIN)
    https.pages[URL] = b"new"

    clock.advance(59)
    assert fetch(URL, PIN, newer_than=timedelta(seconds=60)) == b"old"
    clock.advance(1)
    assert fetch(URL, PIN, newer_than=timedelta(seconds=60)) == b"new"


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 403, 404, 410, 204])
def test_what_is_not_there_is_not_asked_for_again_at_once(status: int) -> None:
    fetch, https, clock = fetcher(a=status)

    for _ in range(3):
        with pytest.raises(NotServed):
            fetch(URL, PIN)
    assert len(https.called) == 1

    clock.advance(60)
    https.pages[URL] = b"key"
    assert fetch(URL, PIN) == b"key"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_other_side_that_is_down_may_be_asked_again(status: int) -> None:
    fetch, https, _ = fetcher(a=status)

    with pytest.raises(Unavailable):
        fetch(URL, PIN)
    https.pages[URL] = b"key"

    assert fetch(URL, PIN) == b"key"


def test_old_answer_serves_a_day_while_the_other_side_is_down() -> None:
    fetch, https, clock = fetcher(a=b"key")
    fetch(URL, PIN)
    https.down = True

    clock.advance(86_399)
    assert fetch(URL, PIN) == b"key"
    clock.advance(1)
    with pytest.raises(Unavailable):
        fetch(URL, PIN)


def test_made_up_addresses_are_no_engine_that_calls_others() -> None:
    fetch, https, clock = fetcher(known=b"key")
    known = "https://keys.example.com/certs/known.pem"
    fetch(known, PIN)

    for number in range(200):
        made_up = "abcdefghij"[number % 10] + "abcdefghij"[number // 10 % 10] * 3
        with pytest.raises((NotServed, Unavailable)):
            fetch(
                f"https://keys.example.com/certs/{made_up}{'x' * (number // 100)}.pem",
                PIN,
            )
    assert len(https.called) == MOST_CALLS

    assert fetch(known, PIN) == b"key"
    clock.advance(60)
    with pytest.raises(NotServed):
        fetch("https://keys.example.com/certs/other.pem", PIN)


def test_calls_are_counted_for_each_host_apart() -> None:
    fetch, https, _ = fetcher()
    other = "https://keys-eu.example.com/certs/a.pem"
    https.pages[other] = b"key"
    for number in range(MOST_CALLS + 1):
        with pytest.raises((NotServed, Unavailable)):
            fetch(f"https://keys.example.com/certs/{'abcdefghijklm'[number]}.pem", PIN)

    assert fetch(other, PIN) == b"key"


def test_memory_is_bounded() -> None:
    fetch, https, clock = fetcher()
    for number in range(300):
        name = "".join("abcdefghij"[int(digit)] for digit in str(number))
        url = f"https://keys.example.com/certs/{name}.pem"
        https.pages[url] = b"key" if number % 2 else 404
        clock.advance(10)
        if number % 2:
            fetch(url, PIN)
        else:
            with pytest.raises(NotServed):
                fetch(url, PIN)

    assert len(fetch._known) <= 64
    assert len(fetch._missing) <= 64


def test_clock_turned_back_makes_everything_old() -> None:
    fetch, https, clock = fetcher(a=b"old")
    fetch(URL, PIN)
    https.pages[URL] = b"new"

    clock.advance(-1)

    assert fetch(URL, PIN) == b"new"
