"""Getting a feed: what is asked, what is followed, and what is not obeyed."""

from __future__ import annotations

import gzip
from datetime import timedelta

import pytest

from lambdas.poller.item import MOST_BYTES, Refused
from lambdas.poller.site import Asked, Gone, Got, NotNow, get
from lambdas.shared.errors import Misconfigured, Unavailable
from tests.fakes.feeds import START, URL, FakeAnswer, FakeSite

MOVED = "https://other.example/feed"


def got(site: FakeSite, **asked: str) -> Got:
    values: dict[str, str] = {"address": URL, "format": "rss", **asked}
    return get(site, Asked(**values, own={"authorization": "Bearer key"}), START)


def answering(
    status: int = 200, body: bytes = b"x", headers: dict[str, str] | None = None
) -> FakeSite:
    return FakeSite({URL: FakeAnswer(status, headers or {}, body)})


def redirected(status: int, to: str = MOVED) -> FakeSite:
    pages = {
        URL: FakeAnswer(status, {"location": to}),
        MOVED: FakeAnswer(200, {}, b"x"),
    }
    return FakeSite(pages)


def test_what_was_told_last_time_is_told_back() -> None:
    site = answering(304, b"", {"etag": '"b"'})

    found = got(site, etag='"a"', modified="Sun, 29 Nov 2026 10:00:00 GMT")

    ((_, headers),) = site.asked
    assert headers["if-none-match"] == '"a"'
    assert headers["if-modified-since"] == "Sun, 29 Nov 2026 10:00:00 GMT"
    assert headers["accept-encoding"] == "gzip"
    assert found.body is None


@pytest.mark.parametrize(("status", "moved"), [(301, True), (308, True), (302, False)])
def test_move_for_good_is_told_and_proof_stays_at_home(
    status: int, moved: bool
) -> None:
    site = redirected(status)

    found = got(site)

    assert found.body == b"x"
    assert found.moved == ("other.example" if moved else "")
    assert ["authorization" in headers for _, headers in site.asked] == [True, False]


def test_redirect_for_now_ends_a_move_for_good() -> None:
    site = redirected(302)
    site.pages[MOVED] = FakeAnswer(301, {"location": "https://third.example/"})
    site.pages["https://third.example/"] = FakeAnswer(200, {}, b"x")

    assert got(site).moved == ""


@pytest.mark.parametrize(
    "to",
    [
        "http://feeds.example/",
        "https://a.example:8443/",
        "file:///etc/passwd",
        "//[",
        "",
    ],
)
def test_redirects_lead_to_public_https_or_nowhere(to: str) -> None:
    with pytest.raises(Refused, match=r"redirect"):
        got(redirected(301, to))


@pytest.mark.parametrize(
    "address",
    ["http://feeds.example/", "https://user@feeds.example/", "feeds", "https://a b/"],
)
def test_address_is_https_and_its_path_is_not_told(address: str) -> None:
    with pytest.raises(Misconfigured, match="the feed's address") as told:
        got(FakeSite(), address=f"{address}?token=key")
    assert "key" not in str(told.value)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"cache-control": "public, max-age=600"}, 600),
        ({"cache-control": "max-age=600", "age": "550"}, 50),
        ({"cache-control": "s-maxage=600"}, 0),
        ({"cache-control": "no-cache, max-age=600"}, 0),
        ({"cache-control": "max-age=a lot"}, 0),
        ({"retry-after": "120"}, 120),
        ({"retry-after": "Sun, 29 Nov 2026 12:01:00 GMT"}, 60),
        ({"retry-after": "Sun, 29 Nov 2020 12:01:00 GMT"}, 0),
        ({"retry-after": "later"}, 0),
    ],
)
def test_answer_says_for_how_long_it_is_good(
    headers: dict[str, str], seconds: int
) -> None:
    assert got(answering(headers=headers)).wait == timedelta(seconds=seconds)
    assert got(answering(304, headers=headers)).wait == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [(429, {"retry-after": "90"}, 90), (429, {}, 3600), (503, {"retry-after": "5"}, 5)],
)
def test_site_that_is_busy_says_when_to_come_again(
    status: int, headers: dict[str, str], seconds: int
) -> None:
    with pytest.raises(NotNow) as told:
        got(answering(status, headers=headers))
    assert told.value.wait == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *[(status, Refused) for status in (201, 204, 400, 401, 403, 404, 418)],
        *[(status, Unavailable) for status in (500, 502, 504, 599)],
        (410, Gone),
    ],
)
def test_other_answers_are_not_obeyed(status: int, error: type[Exception]) -> None:
    with pytest.raises(error, match=f"feeds.example answered {status}"):
        got(answering(status))


def test_gzip_is_unpacked_whether_or_not_it_is_told() -> None:
    packed = gzip.compress(b"feed")

    assert (
        got(answering(200, packed, headers={"content-encoding": "gzip"})).body
        == b"feed"
    )
    assert got(answering(200, packed)).body == b"feed"


@pytest.mark.parametrize(
    ("body", "encoding", "why"),
    [
        (gzip.compress(bytes(MOST_BYTES + 1)), "gzip", "once unpacked"),
        (gzip.compress(gzip.compress(bytes(10**8))), "gzip", ""),
        (gzip.compress(b"feed")[:-9], "gzip", "gzip that is cut off"),
        (b"feed", "gzip", "broken gzip"),
        (b"feed", "br", "answered in 'br'"),
    ],
    ids=["bomb", "bomb in a bomb", "cut off", "none", "brotli"],
)
def test_what_is_packed_is_bounded(body: bytes, encoding: str, why: str) -> None:
    site = answering(200, body, headers={"content-encoding": encoding})

    if why:
        with pytest.raises(Refused, match=why):
            got(site)
    else:
        # Unpacked once; what is inside is no feed, and is not unpacked.
        assert len(got(site).body or b"") < 200_000


def test_body_that_was_cut_off_is_not_obeyed() -> None:
    with pytest.raises(Refused, match="promised 100 bytes and sent 1"):
        got(answering(headers={"content-length": "100"}))
